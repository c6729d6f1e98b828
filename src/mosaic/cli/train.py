"""`mosaic train`: train an algorithm on an environment."""

from __future__ import annotations

import json
from collections.abc import Sequence

from mosaic.cli.parameter_table import parameter_lines
from mosaic.cli.scripts import find_algorithm
from mosaic.cli.train_flags import parse_train
from mosaic.contracts.errors import EXIT_OK, ConfigError
from mosaic.contracts.extras import RESERVED
from mosaic.contracts.parameters import Parameter
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.contracts.train_flags import DAEMON, OWN, extras_flags, hyperparameters
from mosaic.workers.discovery import load_catalogue

USAGE = """\
usage: mosaic train ALGO --env-id ENV [flags]

Train an algorithm. The trainer daemon runs it, and is started where there is none. The command
shows how far it is; Ctrl-C ends the command, and the run goes on.

The flags are those below, every hyperparameter of the algorithm, and every key of a run's extras;
--num-envs and --num_envs are the same.

{own}

  mosaic algos              lists the algorithms
  mosaic train ALGO --help  lists the flags of one

ALGO may be cleanrl:SCRIPT, a script of the CleanRL checkout that --cleanrl-home or the variable
CLEANRL_HOME names; its flags are read from the script.

example:
  mosaic train ppo --env-id CartPole-v1 --total-timesteps 100000 --seed 1
"""


def run(words: Sequence[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(USAGE.format(own="\n".join(parameter_lines([*OWN, *DAEMON]))), end="")
        return EXIT_OK
    if words[0].startswith("-"):
        raise ConfigError(
            "train: name the algorithm first: mosaic train ALGO --env-id ENV.",
            hint="'mosaic algos' lists them.",
        )
    catalogue = load_catalogue()
    entry, words = find_algorithm(catalogue, words)
    if "-h" in words or "--help" in words:
        print("\n".join(_help(entry.algorithm)))
        return EXIT_OK
    request = parse_train(entry.algorithm, words[1:])
    # Each way imports what it needs: the daemon's has no use for pydantic, the local one for gRPC.
    if not request.local:
        from mosaic.cli.train_daemon import train_with_daemon

        return train_with_daemon(request, entry.worker)
    from mosaic.cli.train_local import train_locally

    results = train_locally(request, entry.worker, catalogue.available)
    if request.json:
        documents = [result.to_json() for result in results]
        print(json.dumps(documents[0] if len(request.seeds) == 1 else {"runs": documents}))
    return next((result.return_code for result in results if result.return_code), EXIT_OK)


def _help(algorithm: AlgorithmSchema) -> list[str]:
    sections = [
        ("flags of every training", OWN),
        ("flags for the daemon", DAEMON),
        (f"hyperparameters of {algorithm.name}", hyperparameters(algorithm)),
        ("keys of extras", [flag for flag in extras_flags() if not _is_other_name(flag)]),
    ]
    lines = [f"usage: mosaic train {algorithm.name} --env-id ENV [flags]", "", algorithm.summary]
    for title, parameters in sections:
        lines += ["", f"{title}:", *parameter_lines(parameters)]
    return lines


def _is_other_name(flag: Parameter) -> bool:
    return flag.name not in RESERVED or RESERVED[flag.name].alias_of is not None
