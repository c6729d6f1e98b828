"""The two config files of a run: what was submitted, and what the worker was given."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.contracts.files import make_directory, write_json_whole
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.secrets import redact
from mosaic.contracts.worker_config import extract_worker_config

_SLOT = re.compile(r"worker-([A-Za-z0-9_-]+)-(\d+)\.json")


@dataclass(frozen=True, slots=True)
class RunFiles:
    run_config: Path
    worker_config: Path
    created: tuple[Path, ...]  # directories that did not exist before, outermost first

    def remove(self) -> None:
        """Take everything back that writing left; a directory that holds more than that stays."""
        for file in (self.run_config, self.worker_config):
            file.unlink(missing_ok=True)
        for directory in reversed(self.created):
            with contextlib.suppress(OSError):
                directory.rmdir()


def write_run_files(
    paths: VarPaths, run_config: Mapping[str, Any], worker_config: Mapping[str, Any]
) -> RunFiles:
    """Write both files, secrets removed, the worker's under the next free slot.

    The worker's may be flat, or a run config that holds it. A run that has its files, since its
    start is repeated, keeps its slot.
    """
    directories = (paths.root, paths.trainer, paths.configs)
    created = tuple(directory for directory in directories if not directory.exists())
    make_directory(paths.configs, what="The data directory")
    run_id = extract_worker_config(worker_config)["run_id"]
    with _held(paths.configs):
        worker_path = paths.worker_config(run_id, _slot_for(run_id, paths))
        write_json_whole(worker_path, redact(worker_config))
    config_path = paths.run_config(run_id)
    write_json_whole(config_path, redact(run_config))
    return RunFiles(config_path, worker_path, created)


@contextlib.contextmanager
def _held(directory: Path) -> Iterator[None]:
    """Hold the directory: the file's name holds the run as well, so it alone excludes nobody."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def find_worker_configs(paths: VarPaths, run_id: str) -> list[Path]:
    """Return what the workers of a run were given."""
    if not paths.configs.is_dir():
        return []
    return [paths.worker_config(run_id, slot) for run, slot in _slots(paths) if run == run_id]


def _slot_for(run_id: str, paths: VarPaths) -> int:
    taken = _slots(paths)
    own = [slot for run, slot in taken if run == run_id]
    return own[0] if own else 1 + max((slot for _, slot in taken), default=-1)


def _slots(paths: VarPaths) -> list[tuple[str, int]]:
    matches = (_SLOT.fullmatch(entry.name) for entry in os.scandir(paths.configs))
    return [(match[1], int(match[2])) for match in matches if match]
