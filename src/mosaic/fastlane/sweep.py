"""Taking away the lanes that killed runs left behind."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from mosaic.fastlane.directory import lanes_root, remove_lanes, run_path
from mosaic.fastlane.run_file import RunFile
from mosaic.workers.process_table import read_row

_ASIDE = re.compile(r"\.(?:new|old)-(\d+)-")


def sweep(is_alive: Callable[[str], bool]) -> list[str]:
    """Remove the lanes of runs whose owner is gone and that are not alive; return their ids.

    An owner that lives keeps its lanes, whatever `is_alive` says: it may be another daemon's.
    """
    try:
        directories = sorted(lanes_root().iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    swept = []
    for directory in directories:
        if directory.name.startswith("."):
            _sweep_aside(directory)
        elif not _has_owner(directory) and not is_alive(directory.name):
            remove_lanes(directory)
            swept.append(directory.name)
    return swept


def _has_owner(directory: Path) -> bool:
    file = RunFile.open(run_path(directory))
    if file is None:
        return False
    try:
        return file.is_owner_alive()
    finally:
        file.close()


def _sweep_aside(directory: Path) -> None:
    """Remove what a process made aside (`.new-<pid>-<run>`) and did not live to put in place."""
    named = _ASIDE.match(directory.name)
    if named is not None and read_row(int(named[1])) is None:
        remove_lanes(directory)
