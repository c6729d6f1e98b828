"""Ask the machine what is installed: a survey in a process of its own, kept until packages change.

The answer of a survey is kept under the data directory, where there is one.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from mosaic.catalog.environments import Environments, combine
from mosaic.catalog.families import FAMILIES
from mosaic.contracts.files import write_json_whole
from mosaic.contracts.paths import VarPaths

_TIMEOUT_S = 120.0
_COMMAND = (sys.executable, "-m", "mosaic.catalog.survey")


def list_environments(paths: VarPaths) -> Environments:
    """Return what there is; a survey takes a few seconds, and only where packages changed."""
    kept = kept_environments(paths)
    if kept is not None:
        return kept
    return _take(paths, _read(_run(_COMMAND)))


async def list_environments_async(paths: VarPaths) -> Environments:
    kept = kept_environments(paths)
    if kept is not None:
        return kept
    return _take(paths, _read(await asyncio.to_thread(_run, _COMMAND)))


def kept_environments(paths: VarPaths) -> Environments | None:
    """Return what the last survey found, unless a package has changed since."""
    try:
        document = json.loads(_file(paths).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(document, dict) or document.get("versions") != _versions():
        return None
    return combine(document["families"])


def describe_environment(env_id: str) -> dict[str, Any]:
    """Make an environment in a process of its own; return its spaces in words, or the problem."""
    return _read(_run((*_COMMAND, env_id)))


def _run(command: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    # Without a display MuJoCo's default renderer ends the process.
    environment = {"MUJOCO_GL": "egl", "SDL_VIDEODRIVER": "dummy", **os.environ}
    return subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )


def _read(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the object that a survey printed; one that died found nothing, and says why."""
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = None
    if done.returncode == 0 and isinstance(document, dict):
        return document
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    return {"problem": f"ended with code {done.returncode}: {last}"}


def _take(paths: VarPaths, document: dict[str, Any]) -> Environments:
    """Keep what was found; a survey that died is repeated the next time."""
    families = document.get("families")
    if families is None:
        problem = {"problem": str(document.get("problem"))}
        return combine(dict.fromkeys(FAMILIES, problem))
    if paths.root.is_dir():
        path = _file(paths)
        path.parent.mkdir(exist_ok=True)
        write_json_whole(path, {"versions": _versions(), "families": families})
    return combine(families)


def _file(paths: VarPaths) -> Path:
    return paths.cache / "environments.json"


def _versions() -> dict[str, str]:
    """Return the versions of the packages that register environments, and of Python's own."""
    names = sorted({name for family in FAMILIES.values() for name in family.distributions})
    return {"python": sys.version.split()[0], **{name: _version(name) for name in names}}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
