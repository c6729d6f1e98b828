"""What a training can be told: options of its own, hyperparameters, and the keys of extras.

The flags of `mosaic train` and the fields of the form are the same parameters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mosaic.contracts.extras import RESERVED
from mosaic.contracts.parameters import Parameter, find, to_flags
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.contracts.worker_config import MAX_SEED

SEEDS = (0, MAX_SEED)

OWN = (
    Parameter("env_id", "str", None, "Environment id; required."),
    Parameter("total_timesteps", "int", None, "Environment steps of the run.", range=(1, None)),
    Parameter("seed", "int", None, "Seed; drawn and recorded when absent.", range=SEEDS),
    Parameter("seeds", "str", None, "Several seeds, one run after the other: 1,2,3."),
    Parameter("tuned", "bool", False, "Start from the tuned values for this environment."),
    Parameter("local", "bool", False, "Run here and now, without a daemon."),
    Parameter("detach", "bool", False, "Hand the run to the daemon and return."),
    Parameter("validate", "bool", False, "Do a dry run first; go on only if it passes."),
    Parameter("json", "bool", False, "Print one JSON object at the end, and no progress."),
)

# What the daemon does with the run; without one there is nobody to do it.
DAEMON = (
    Parameter("run_name", "str", None, "Name of the run; made when absent."),
    Parameter("worker_id", "str", None, "Name of the worker; made when absent."),
    Parameter("cpus", "int", None, "CPU cores to reserve.", range=(1, None)),
    Parameter("memory_mb", "int", None, "Memory to reserve.", range=(1, None)),
    Parameter("gpus", "int", None, "GPUs to reserve, and to wait for.", range=(0, None)),
    Parameter(
        "max_duration_seconds", "float", None, "End the run after this time.", range=(0, None)
    ),
    Parameter("max_steps", "int", None, "End the run after so many steps.", range=(1, None)),
    Parameter("idempotency_key", "str", None, "Two submissions with one key are one run."),
)

# CleanRL's spelling of a key that has another name here.
SYNONYMS = {"track": "track_wandb"}


def hyperparameters(algorithm: AlgorithmSchema) -> list[Parameter]:
    """Return the fields that are the algorithm's own, and not options of every run."""
    taken = (
        {parameter.name for parameter in (*OWN, *DAEMON)}
        | set(RESERVED)
        | set(SYNONYMS)
        | {"dry_run"}
    )
    return [field for field in algorithm.fields if field.name not in taken]


def extras_flags() -> list[Parameter]:
    """Return the reserved keys as flags; objects and lists are given as JSON."""
    flags = []
    for key in RESERVED.values():
        kind = "str" if key.type in ("object", "list") else key.type
        flags.append(Parameter(key.name, kind, key.default, key.help, True, key.choices, key.range))
    return flags + [
        Parameter(name, RESERVED[proper].type, None, RESERVED[proper].help, True)
        for name, proper in SYNONYMS.items()
    ]


def train_parameters(algorithm: AlgorithmSchema) -> list[Parameter]:
    """Return everything that a training with this algorithm can be told."""
    return [*OWN, *DAEMON, *extras_flags(), *hyperparameters(algorithm)]


def train_words(algorithm: AlgorithmSchema, given: Mapping[str, Any]) -> list[str]:
    """Return the words after `mosaic` that ask for the same training."""
    parameters = train_parameters(algorithm)
    words = ["train", algorithm.name]
    for name, value in given.items():
        parameter = find(parameters, name, owner=algorithm.name)
        # Objects and lists of extras travel as JSON.
        text = json.dumps(value) if isinstance(value, dict | list) else value
        words += to_flags(parameter, value if parameter.type.endswith("[]") else text)
    return words
