"""`mosaic sweep`: search for the hyperparameters that do best."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mosaic.cli.arguments import Parser
from mosaic.cli.parameter_table import parameter_lines
from mosaic.cli.sweep_view import follow, show, sweep_lines
from mosaic.cli.train_flags import refuse_logins, unknown_flag
from mosaic.contracts.errors import EXIT_OK, ConfigError
from mosaic.contracts.parameters import Parameter, parse_given
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.contracts.search import parse_search
from mosaic.contracts.train_flags import hyperparameters, train_parameters
from mosaic.contracts.train_request import parse_seeds, train_request
from mosaic.sweeps.request import OPTIONS, SweepRequest
from mosaic.sweeps.starting import (
    adopt_file,
    conduct,
    find_sweep,
    list_sweeps,
    new_study_name,
    start_sweep,
    stop_sweep,
)
from mosaic.workers.discovery import load_catalogue

_SEARCH = Parameter(
    "search", "str[]", None, "NAME=LOW..HIGH, NAME=LOW..HIGH:log or NAME=VALUE,VALUE; several."
)
_SPACE = Parameter("only", "bool", False, "Search what --search names, and nothing else.")
_OWN = (*OPTIONS, _SEARCH, _SPACE)
# Flags of a training that mean nothing to a sweep.
_NOT_SHARED = frozenset({"seed", "local", "validate", "run_name", "idempotency_key", "json"})

USAGE = """\
usage: mosaic sweep ALGO --env-id ENV [flags]
       mosaic sweep --list | --show STUDY | --follow STUDY | --stop STUDY | --resume STUDY
       mosaic sweep --open FILE

Search for hyperparameters with Optuna. Every trial is a run of the daemon, or one for each of
--seeds; a trial that is worse than the others were at the same step is cancelled. The sweep goes on
when this command is interrupted.

{own}

Every flag of 'mosaic train' holds for all trials. What is searched is listed by
'mosaic sweep ALGO --help'.

example:
  mosaic sweep ppo --env-id CartPole-v1 --trials 20 --objective charts/episodic_return
"""


def run(words: Sequence[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(USAGE.format(own="\n".join(parameter_lines(_OWN))), end="")
        return EXIT_OK
    if words[0].startswith("-"):
        return _act(words)
    entry = load_catalogue().find(words[0])
    if "-h" in words or "--help" in words:
        print("\n".join(_help(entry.algorithm)))
        return EXIT_OK
    paths = VarPaths.default()
    request, options = _request(entry.algorithm, words[1:])
    own = start_sweep(paths, request)
    if options["detach"]:
        document = {"study": request.study, "database": str(own.database)}
        print(json.dumps(document) if options["json"] else f"{request.study}  {own.database}")
        return EXIT_OK
    return follow(paths, request.study, as_json=options["json"])


def _act(words: Sequence[str]) -> int:
    parser = Parser(prog="mosaic sweep", usage=USAGE.partition("\n\n")[0].removeprefix("usage: "))
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--list", action="store_true", help="list the studies")
    for name in ("show", "follow", "stop", "resume"):
        what.add_argument(f"--{name}", metavar="STUDY")
    what.add_argument("--open", metavar="FILE", help="a study of Optuna's, as CleanRL's tuner has")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse(words)
    paths = VarPaths.default()
    if given.list:
        return _list(paths, as_json=given.json)
    if given.open is not None:
        name = adopt_file(paths, Path(given.open))
        return show(paths.sweep(name), as_json=given.json)
    name = find_sweep(paths, given.show or given.follow or given.stop or given.resume).root.name
    if given.show:
        return show(paths.sweep(name), as_json=given.json)
    if given.stop:
        was_running = stop_sweep(paths, name)
        print(f"{name}  {'told to stop' if was_running else 'was not under way'}")
        return EXIT_OK
    if given.resume:
        conduct(paths, name)
    return follow(paths, name, as_json=given.json)


def _list(paths: VarPaths, *, as_json: bool) -> int:
    names = list_sweeps(paths)
    if as_json:
        print(json.dumps(names))
    else:
        print("\n".join(sweep_lines(paths, names)) or "There is no sweep yet.")
    return EXIT_OK


def _request(
    algorithm: AlgorithmSchema, words: Sequence[str]
) -> tuple[SweepRequest, dict[str, bool]]:
    """Read the flags: of the sweep, and of the training that its trials share."""
    command = f"mosaic sweep {algorithm.name}"
    own = {parameter.name: parameter for parameter in _OWN}
    shared = [each for each in train_parameters(algorithm) if each.name not in own]
    given, unknown = parse_given([*own.values(), *shared], words, owner=command)
    if unknown:
        raise unknown_flag(command, unknown[0], [*own.values(), *shared])
    refuse_logins(given)
    options = {name: bool(given.pop(name, False)) for name in ("detach", "json")}
    for name in _NOT_SHARED & given.keys():
        raise ConfigError(f"--{name.replace('_', '-')} is for one run: a sweep has none of it.")
    values = {name: given.pop(name) for name in own if name in given}
    seeds = parse_seeds(given.pop("seeds", "1"))
    train_request(algorithm, given)  # refused now, rather than in every trial
    request = SweepRequest(
        algo=algorithm.name,
        given=given,
        seeds=seeds,
        created_at=time.time(),
        space=_space(algorithm, values, given),
        study=values.pop("study", None) or new_study_name(algorithm.name, given["env_id"]),
        **{name: value for name, value in values.items() if name not in ("search", "only")},
    )
    request.check(algorithm)
    return request, options


def _space(
    algorithm: AlgorithmSchema, values: dict[str, Any], given: dict[str, Any]
) -> tuple[Any, ...]:
    """Return what is searched: the recipe's ranges but for what is fixed, and what was given."""
    fields = tuple(hyperparameters(algorithm))
    asked = [
        parse_search(text, fields, owner=algorithm.name) for text in values.get("search") or ()
    ]
    names = {row.name for row in asked}
    if values.get("only"):
        return tuple(asked)
    kept = [row for row in algorithm.search if row.name not in names and row.name not in given]
    return (*asked, *kept)


def _help(algorithm: AlgorithmSchema) -> list[str]:
    lines = [f"usage: mosaic sweep {algorithm.name} --env-id ENV [flags]", "", algorithm.summary]
    lines += ["", "flags of a sweep:", *parameter_lines(_OWN)]
    lines += ["", "searched, unless a flag fixes it:"]
    lines += [f"  {row.to_text()}" for row in algorithm.search]
    return [*lines, "", f"'mosaic train {algorithm.name} --help' lists the flags of its trials."]
