"""What a run left on disk to go on from: its checkpoints, its policy, its manifest.

Only JSON is read, and defensively: the directory may be of a run that was killed, or not ours. The
tensors beside it are the worker's, which checks all of it again.
"""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.contracts.paths import RunPaths

_CHECKPOINT = re.compile(r"step-(\d{1,18})\.ckpt", re.ASCII)
_CHECKPOINT_DOCUMENT = "checkpoint.json"
# A checkpoint's document has some 20 kB, a manifest less; far beyond that it is none of ours.
_DOCUMENT_LIMIT_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class SavedState:
    """A checkpoint, as far as it tells without its tensors."""

    path: Path
    step: int
    why_not_exact: str = ""

    @property
    def is_exact(self) -> bool:
        return not self.why_not_exact


@dataclass(frozen=True, slots=True)
class PolicyDescription:
    """What lies beside saved weights; None where it is not told."""

    algo: str | None = None
    env_id: str | None = None


def find_states(run_dir: Path) -> list[SavedState]:
    """Return the checkpoints of a run, oldest first; what cannot be read is none."""
    paths = RunPaths(run_dir)
    entries = list(paths.checkpoints.iterdir()) if paths.checkpoints.is_dir() else []
    found = (entry for entry in entries if _CHECKPOINT.fullmatch(entry.name))
    states = (_read_state(entry, paths.replay) for entry in found)
    return sorted((each for each in states if each is not None), key=lambda each: each.step)


def _read_state(path: Path, replay: Path) -> SavedState | None:
    if path.is_symlink() or not path.is_dir():
        return None
    document = read_object(path / _CHECKPOINT_DOCUMENT)
    step, exact = document.get("step"), document.get("exact")
    if type(step) is not int or type(exact) is not bool or path.name != f"step-{step}.ckpt":
        return None
    why = _lost_replay(path, replay, document) if exact else "left by a stop"
    return SavedState(Path(os.path.abspath(path)), step, why)


def _lost_replay(path: Path, replay: Path, document: dict[str, Any]) -> str:
    """Return what its replay buffer lacks: of the kept checkpoints the newest alone may have it."""
    if "replay" not in document:
        return ""  # not an algorithm that replays
    snapshot = document["replay"]
    if not isinstance(snapshot, dict):
        return "saved without its replay buffer"
    segments, tail = snapshot.get("segments"), snapshot.get("tail")
    files = [replay / name for name in _names(segments)]
    files += [path / name for name in _names([tail])]
    return "" if all(file.is_file() for file in files) else "its replay buffer is gone"


def _names(rows: Any) -> list[str]:
    """Return the files that a list of row files names; what is none names nothing."""
    listed = rows if isinstance(rows, list) else []
    found = [row.get("file") for row in listed if isinstance(row, dict)]
    return [Path(name).name for name in found if isinstance(name, str) and "\0" not in name]


def read_object(path: Path) -> dict[str, Any]:
    """Return a JSON object; an empty one for whatever is absent, too large or no object."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _DOCUMENT_LIMIT_BYTES:
            return {}
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def find_policy(run_dir: Path) -> Path | None:
    """Return the weights that the run saved at its end, as its manifest names them."""
    named: Any = read_manifest(run_dir)
    for level in ("artifacts", "policy", "path"):
        named = named.get(level) if isinstance(named, dict) else None
    if not isinstance(named, str) or not named or "\0" in named:
        return None
    path = (run_dir / named).resolve()
    is_inside = path.is_relative_to(run_dir.resolve())
    return path if is_inside and path.is_file() else None


def describe_policy(path: Path) -> PolicyDescription:
    """Return what is told of a checkpoint, or of a policy in the file of its name beside it."""
    beside = path / _CHECKPOINT_DOCUMENT if path.is_dir() else path.with_suffix(".json")
    document = read_object(beside)
    algo, env_id = document.get("algo"), document.get("env_id")
    return PolicyDescription(
        algo if isinstance(algo, str) else None, env_id if isinstance(env_id, str) else None
    )


def read_manifest(run_dir: Path) -> dict[str, Any]:
    return read_object(RunPaths(run_dir).manifest)
