"""What a submission takes along from the place where it was made: variables, secrets, paths."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.contracts.run_environment import RUN_VARIABLES
from mosaic.contracts.secrets import ENVIRONMENT_OF

# Keys whose value is a path of the user's: relative to where the command was typed.
PATH_KEYS = ("checkpoint_path", "policy_path", "teacher_policy_path", "cleanrl_home")


def shell_variables() -> dict[str, str]:
    """Return what this shell sets for a run; a proxy, whose address may hold a password, stays."""
    names = (name for name in RUN_VARIABLES if not name.lower().endswith("_proxy"))
    return {name: os.environ[name] for name in sorted(names) if name in os.environ}


def environment_secrets() -> dict[str, str]:
    """Return the secrets of this environment, which go to the run and are stored nowhere."""
    return {name: os.environ[name] for name in ENVIRONMENT_OF.values() if os.environ.get(name)}


def absolute_paths(extras: Mapping[str, Any]) -> dict[str, Any]:
    """Return the extras with their paths made absolute: the run has another working directory."""
    named = {key: extras[key] for key in PATH_KEYS if isinstance(extras.get(key), str)}
    return {
        **extras,
        **{key: str(Path(path).expanduser().absolute()) for key, path in named.items()},
    }
