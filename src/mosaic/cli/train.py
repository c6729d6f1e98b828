"""`mosaic train`: train an algorithm on an environment."""

from __future__ import annotations

import json
from collections.abc import Sequence

from mosaic.cli.catalogue import load_catalogue
from mosaic.cli.parameter_table import parameter_lines
from mosaic.cli.train_flags import OWN, extras_flags, hyperparameters, parse_train
from mosaic.cli.train_local import train_locally
from mosaic.contracts.errors import EXIT_OK, ConfigError, DaemonUnreachable
from mosaic.contracts.extras import RESERVED
from mosaic.contracts.parameters import Parameter
from mosaic.contracts.schema import AlgorithmSchema

USAGE = """\
usage: mosaic train ALGO --env-id ENV [flags]

Train an algorithm. The flags are those below, every hyperparameter of the algorithm, and every key
of a run's extras; --num-envs and --num_envs are the same.

{own}

  mosaic algos              lists the algorithms
  mosaic train ALGO --help  lists the flags of one

example:
  mosaic train ppo --env-id CartPole-v1 --total-timesteps 100000 --seed 1 --local
"""


def run(words: Sequence[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(USAGE.format(own="\n".join(parameter_lines(OWN))), end="")
        return EXIT_OK
    if words[0].startswith("-"):
        raise ConfigError(
            "train: name the algorithm first: mosaic train ALGO --env-id ENV.",
            hint="'mosaic algos' lists them.",
        )
    catalogue = load_catalogue()
    entry = catalogue.find(words[0])
    if "-h" in words or "--help" in words:
        print("\n".join(_help(entry.algorithm)))
        return EXIT_OK
    request = parse_train(entry.algorithm, words[1:])
    if request.detach or not request.local:
        raise DaemonUnreachable(
            "The trainer daemon is not in this version.",
            hint="Leave out --detach and add --local." if request.detach else "Add --local.",
        )
    results = train_locally(request, entry.worker, catalogue.available)
    if request.json:
        documents = [result.to_json() for result in results]
        print(json.dumps(documents[0] if len(request.seeds) == 1 else {"runs": documents}))
    return next((result.return_code for result in results if result.return_code), EXIT_OK)


def _help(algorithm: AlgorithmSchema) -> list[str]:
    sections = [
        ("flags of every training", OWN),
        (f"hyperparameters of {algorithm.name}", hyperparameters(algorithm)),
        ("keys of extras", [flag for flag in extras_flags() if not _is_other_name(flag)]),
    ]
    lines = [f"usage: mosaic train {algorithm.name} --env-id ENV [flags]", "", algorithm.summary]
    for title, parameters in sections:
        lines += ["", f"{title}:", *parameter_lines(parameters)]
    return lines


def _is_other_name(flag: Parameter) -> bool:
    return flag.name not in RESERVED or RESERVED[flag.name].alias_of is not None
