"""What an evaluation can be told, and the run config that comes of it.

The flags of `mosaic eval` and the fields of the form are the same parameters.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.continuation import evaluation_config, policy_config
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.extras import RESERVED, check_reserved
from mosaic.contracts.parameters import Parameter, find, to_flags
from mosaic.contracts.run_document import run_document
from mosaic.contracts.submitting import shell_variables
from mosaic.contracts.worker_config import MAX_SEED, extract_worker_config

OWN = (
    Parameter("from", "int", None, "The run's checkpoint of this step.", range=(0, None)),
    Parameter("env_id", "str", None, "Another environment than the policy's own."),
    Parameter("algo", "str", None, "Algorithm of a policy that does not say it."),
    Parameter("seed", "int", None, "Seed; drawn and recorded when absent.", range=(0, MAX_SEED)),
    Parameter("against", "str", None, "Another run or policy, played on the same seeds."),
    Parameter("detach", "bool", False, "Hand the evaluation to the daemon and return."),
    Parameter("json", "bool", False, "Print one JSON object at the end, and no progress."),
)

_DRAWN_SEEDS = 2**31
_OF_EVERY_RUN = ("cuda", "notes")
# Frames alone are for workers that have telemetry.
_NOT_OURS = ("fastlane_only",)


def evaluation_options() -> list[Parameter]:
    """Return the reserved keys that say something to an evaluation."""
    keys = [key for key in RESERVED.values() if key.alias_of is None and _is_option(key.name)]
    return [key.as_parameter() for key in keys]


def _is_option(name: str) -> bool:
    if name in _NOT_OURS:
        return False
    return name.startswith(("eval_", "fastlane_")) or name in _OF_EVERY_RUN


def evaluate_run(
    run_config: Mapping[str, Any], run_dir: Path, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the run config that evaluates what a run has learned."""
    document = evaluation_config(
        run_config, run_dir, from_step=given.get("from"), changes=_changes(given)
    )
    return _as_asked(document, given)


def evaluate_policy(
    policy: Path, given: Mapping[str, Any], find_worker: Callable[[str], WorkerCapabilities]
) -> dict[str, Any]:
    """Return the run config that evaluates a policy file or a checkpoint by itself."""
    if given.get("from") is not None:
        raise ConfigError("eval: --from names a checkpoint of a run; a policy is a file already.")
    config = policy_config(
        policy, algo=given.get("algo"), env_id=given.get("env_id"), changes=_changes(given)
    )
    document = run_document(config, find_worker(config["algo"]), environment=shell_variables())
    return _as_asked(document, given)


def evaluation_words(target: str, given: Mapping[str, Any]) -> list[str]:
    """Return the words after `mosaic` that ask for the same evaluation."""
    parameters = [*OWN, *evaluation_options()]
    words = ["eval", target]
    for name, value in given.items():
        words += to_flags(find(parameters, name, owner="mosaic eval"), value)
    return words


def _changes(given: Mapping[str, Any]) -> dict[str, Any]:
    return check_reserved({name: value for name, value in given.items() if name in RESERVED})


def _as_asked(document: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    config = extract_worker_config(document)
    config["seed"] = given.get("seed")
    for name in ("env_id", "algo"):
        config[name] = given.get(name) or config[name]
    document["metadata"]["worker"]["config"] = config
    return document


def given_same_seed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given with a seed, drawn where there is none: for two that are compared."""
    if given.get("eval_repeat"):
        raise ConfigError("eval: --against and --eval-repeat contradict each other: give one.")
    seed = given.get("seed")
    return {**given, "seed": secrets.randbelow(_DRAWN_SEEDS) if seed is None else seed}
