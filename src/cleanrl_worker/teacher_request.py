"""What a config says of a teacher, found by the worker: without torch, before anything starts."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from cleanrl_worker.config import CleanRLWorkerConfig
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.parameters import to_flags
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.contracts.worker_config import check_text

_PATH = "teacher_policy_path"
_KEYS = (_PATH, "train_teacher_steps")


def resolve_teacher(config: CleanRLWorkerConfig) -> CleanRLWorkerConfig:
    """Return the config with the absolute path of the teacher's policy, where it names one."""
    given = config.options.get(_PATH)
    if given is None:
        return config
    path = os.path.abspath(check_text(f"extras.{_PATH}", given))
    if not os.path.exists(path):
        raise ConfigError(f"extras.{_PATH}={given!r} does not exist: {path!r}.")
    return dataclasses.replace(config, extras={**config.extras, _PATH: path})


def teacher_flags(options: Mapping[str, Any], algorithm: AlgorithmSchema) -> list[str]:
    """Return the flags of the reserved keys that name a teacher; only some algorithms have one."""
    fields = {field.name: field for field in algorithm.fields}
    flags: list[str] = []
    for name in _KEYS:
        value = options.get(name)
        if value is None:
            continue
        if name not in fields:
            raise ConfigError(
                f"extras.{name}={value!r}: {algorithm.name} learns from no teacher.",
                hint=f"Leave {name} out, or use a qdagger algorithm.",
            )
        flags += to_flags(fields[name], value)
    return flags
