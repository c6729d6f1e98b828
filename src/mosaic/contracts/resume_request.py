"""What going on from a checkpoint can be told.

The flags of `mosaic resume` and the fields of the form are the same parameters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mosaic.contracts.parameters import Parameter, find, to_flags
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.contracts.train_flags import extras_flags, hyperparameters
from mosaic.contracts.train_request import own_hyperparameters, reserved_keys
from mosaic.contracts.worker_config import extract_worker_config

OWN = (
    Parameter("from", "int", None, "The checkpoint of this step.", range=(0, None)),
    Parameter(
        "total_timesteps", "int", None, "A new total, earlier steps included.", range=(1, None)
    ),
)

# The resume itself sets them.
_SET_BY_US = frozenset({"mode", "checkpoint_path", "policy_path", "algo_params"})


def resume_options(algorithm: AlgorithmSchema) -> list[Parameter]:
    """Return what may be changed on the way: hyperparameters, and options of every run."""
    options = [flag for flag in extras_flags() if flag.name not in _SET_BY_US]
    return [*options, *hyperparameters(algorithm)]


def resume_changes(algorithm: AlgorithmSchema, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes as they are laid over the extras of the run."""
    changes = reserved_keys(given)
    params = algorithm.check(own_hyperparameters(algorithm, given))
    return changes | ({"algo_params": params} if params else {})


def resume_difference(
    run_config: Mapping[str, Any], document: Mapping[str, Any], algorithm: AlgorithmSchema
) -> list[str]:
    """Return what the continuation does otherwise than its run, a line each."""
    before, after = _settings(run_config), _settings(document)
    return [
        f"{name}: {_text(before.get(name, _default(algorithm, name)))} → {_text(after.get(name))}"
        for name in after
        if after[name] != before.get(name, _default(algorithm, name))
    ]


def _settings(run_config: Mapping[str, Any]) -> dict[str, Any]:
    config = extract_worker_config(run_config)
    extras = dict(config.get("extras") or {})
    params = extras.pop("algo_params", None) or {}
    own = {name: value for name, value in extras.items() if name not in _SET_BY_US}
    return {"total_timesteps": config.get("total_timesteps"), **own, **params}


def _default(algorithm: AlgorithmSchema, name: str) -> Any:
    return algorithm.default(name) if algorithm.has(name) else None


def _text(value: Any) -> str:
    return "none" if value is None else json.dumps(value)


def resume_words(run_id: str, algorithm: AlgorithmSchema, given: Mapping[str, Any]) -> list[str]:
    """Return the words after `mosaic` that go on in the same way."""
    parameters = [*OWN, *resume_options(algorithm)]
    words = ["resume", run_id]
    for name, value in given.items():
        words += to_flags(find(parameters, name, owner=algorithm.name), value)
    return words
