"""The environment variables of the algorithm process."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from cleanrl_worker.channel import EVENT_FD_VARIABLE
from mosaic.contracts.paths import default_var_dir
from mosaic.contracts.secrets import REDACTED, is_secret
from mosaic.workers.processes import PARENT_PID_VARIABLE

# Shorter values are no secrets, and masking them would mangle every text.
_SHORTEST_SECRET = 4


def child_environment(
    base: Mapping[str, str], *, run_id: str, secrets: Mapping[str, str], event_fd: int
) -> dict[str, str]:
    """Return the environment of the algorithm process of a run."""
    environment = {**base, **secrets}
    environment["MOSAIC_RUN_ID"] = run_id
    environment[EVENT_FD_VARIABLE] = str(event_fd)
    environment[PARENT_PID_VARIABLE] = str(os.getpid())
    # A relative one would lie in the run directory, which is the child's working directory.
    environment["MOSAIC_VAR_DIR"] = str(default_var_dir())
    environment["PYTHONUNBUFFERED"] = "1"
    environment.setdefault("OMP_NUM_THREADS", "1")
    environment["PYTHONPATH"] = _python_path(base.get("PYTHONPATH", ""))
    if sys.platform == "linux" and not base.get("DISPLAY"):
        environment.setdefault("MUJOCO_GL", "egl")
        environment.setdefault("SDL_VIDEODRIVER", "dummy")
    return environment


def _python_path(path: str) -> str:
    """Return PYTHONPATH so that it means the same in another working directory.

    A checkout that is not installed is put in front: the child must import the worker's own code.
    """
    entries = [os.path.abspath(entry) for entry in path.split(os.pathsep) if entry]
    source = str(Path(__file__).resolve().parent.parent)
    if source not in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *entries):
        entries.insert(0, source)
    return os.pathsep.join(entries)


def mask_secrets(text: str, environment: Mapping[str, str]) -> str:
    """Return the text with the value of every secret of the environment as "***"."""
    values = {value for name, value in environment.items() if is_secret(name)}
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, REDACTED)
    return text
