"""The bin: where the files of a deleted run lie until they are restored or removed.

The daemon marks the run's row first and moves then. Each step here is a rename, and each function
may be called again: after a crash it finishes what was begun.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from mosaic.contracts.errors import StorageError
from mosaic.contracts.files import make_directory, sync_directory
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.run_files import find_worker_configs


def move_in(paths: VarPaths, run_id: str, mode: str) -> None:
    """Move the run's directory to the bin; one that is there already, or never was, is left."""
    make_directory(paths.bin, what="The bin")
    _move(paths.run(run_id, mode).root, paths.binned(run_id).root, run_id)


def move_out(paths: VarPaths, run_id: str, mode: str) -> None:
    """Move the run's directory back to where it was."""
    home = paths.run(run_id, mode).root
    make_directory(home.parent, what="The directory of the runs")
    _move(paths.binned(run_id).root, home, run_id)


def purge(paths: VarPaths, run_id: str, mode: str) -> None:
    """Remove every file of the run: in the bin or not, its configs, and what its proxy kept."""
    doomed = [paths.run(run_id, mode).root, paths.binned(run_id).root, paths.proxy(run_id).root]
    try:
        for directory in doomed:
            _remove(directory)
        for file in (paths.run_config(run_id), *find_worker_configs(paths, run_id)):
            file.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"Run {run_id} could not be removed: {error.filename}: {error.strerror}.",
            hint="Remove what stands in the way, and purge it again.",
        ) from None


def _move(source: Path, target: Path, run_id: str) -> None:
    if not source.exists():
        return
    if target.exists():
        raise StorageError(
            f"Run {run_id} lies in two places: {str(source)!r} and {str(target)!r}.",
            hint="Move one of them away.",
        )
    try:
        os.rename(source, target)
        sync_directory(target.parent)
        sync_directory(source.parent)
    except OSError as error:
        raise StorageError(
            f"Run {run_id} could not be moved to {str(target)!r}: {error.strerror}."
        ) from None


def _remove(directory: Path) -> None:
    if directory.is_symlink():
        directory.unlink()
    elif directory.exists():
        shutil.rmtree(directory)
