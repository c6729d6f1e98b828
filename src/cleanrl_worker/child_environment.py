"""The environment variables of the algorithm process."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from cleanrl_worker.channel import EVENT_FD_VARIABLE
from mosaic.contracts.paths import default_var_dir
from mosaic.workers.processes import PARENT_PID_VARIABLE


def child_environment(
    base: Mapping[str, str],
    *,
    run_id: str,
    variables: Mapping[str, str],
    event_fd: int,
    code: Sequence[Path] = (),
) -> dict[str, str]:
    """Return the environment of the algorithm process of a run.

    `code` are the folders that a process with another interpreter finds our code in.
    """
    environment = {**base, **variables}
    environment["MOSAIC_RUN_ID"] = run_id
    environment[EVENT_FD_VARIABLE] = str(event_fd)
    environment[PARENT_PID_VARIABLE] = str(os.getpid())
    # A relative one would lie in the run directory, which is the child's working directory.
    environment["MOSAIC_VAR_DIR"] = str(default_var_dir())
    environment["PYTHONUNBUFFERED"] = "1"
    environment.setdefault("OMP_NUM_THREADS", "1")
    environment["PYTHONPATH"] = _python_path(base.get("PYTHONPATH", ""), code)
    return renderers(base) | environment


def renderers(base: Mapping[str, str]) -> dict[str, str]:
    """Return what lets environments draw where there is no screen."""
    if sys.platform != "linux" or base.get("DISPLAY"):
        return {}
    return {"MUJOCO_GL": "egl", "SDL_VIDEODRIVER": "dummy"}


def _python_path(path: str, code: Sequence[Path]) -> str:
    """Return PYTHONPATH so that it means the same in another working directory.

    A checkout that is not installed is put in front: the child must import the worker's own code.
    """
    entries = [os.path.abspath(entry) for entry in path.split(os.pathsep) if entry]
    if code:
        return os.pathsep.join(dict.fromkeys([*map(str, code), *entries]))
    source = str(Path(__file__).resolve().parent.parent)
    if source not in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *entries):
        entries.insert(0, source)
    return os.pathsep.join(entries)
