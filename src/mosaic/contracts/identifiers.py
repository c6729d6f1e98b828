"""Run identifiers, and names that are safe in the file system."""

from __future__ import annotations

import re
from typing import Any

from mosaic.contracts.errors import ConfigError

_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def new_run_id() -> str:
    """Return a fresh ULID: unique, and sorted by time."""
    from ulid import ULID

    return str(ULID())


def check_run_id(value: Any) -> str:
    if not isinstance(value, str) or not _RUN_ID.fullmatch(value):
        raise ConfigError(
            f"run_id={value!r} is not allowed: give 1 to 64 letters, digits, '_' or '-'."
        )
    return value


def check_study_name(value: Any) -> str:
    if not isinstance(value, str) or not _RUN_ID.fullmatch(value):
        raise ConfigError(
            f"study={value!r} is not allowed: give 1 to 64 letters, digits, '_' or '-'."
        )
    return value


def file_name(env_id: str) -> str:
    """Return the environment id as one path component: "ALE/Pong-v5" is "ALE-Pong-v5"."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", env_id).lstrip(".") or "env"
