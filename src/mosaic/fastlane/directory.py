"""Where lanes lie, and that nobody else can get at them."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

from mosaic.contracts.errors import ConfigError, NotFound, StorageError
from mosaic.contracts.identifiers import check_run_id

DIRECTORY_VARIABLE = "MOSAIC_FASTLANE_DIR"
_SHARED_MEMORY = Path("/dev/shm")


def lanes_root() -> Path:
    """Return the directory that holds a directory for each run of this user."""
    return _parent() / f"mosaic-{os.getuid()}"


def run_directory(run_id: str) -> Path:
    return lanes_root() / check_run_id(run_id)


def lane_path(directory: Path, index: int) -> Path:
    return directory / f"lane-{index}"


def run_path(directory: Path) -> Path:
    return directory / "run"


def find_run(prefix: str) -> str:
    """Return the id of the one run of this user that has lanes and whose id starts so."""
    try:
        names = sorted(name for name in os.listdir(lanes_root()) if not name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        names = []
    matches = [prefix] if prefix in names else [name for name in names if name.startswith(prefix)]
    if not prefix or not matches:
        raise NotFound(
            f"No run {prefix!r} shows live frames on this machine.",
            hint="It has ended, has not begun, or has fastlane_video_mode=off.",
        )
    if len(matches) > 1:
        raise ConfigError(f"{prefix!r} may be any of {', '.join(matches)}: give more of the id.")
    return matches[0]


def make_lanes_root() -> Path:
    """Return the directory of this user's lanes, made where it is missing, open to this user alone.

    Anybody may write in /dev/shm: what lies there under our name may be somebody else's.
    """
    root = lanes_root()
    try:
        root.mkdir(mode=0o700, exist_ok=True)
        found = root.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise StorageError(
                f"{root} is not a directory of this user.",
                hint=f"Remove it, or set {DIRECTORY_VARIABLE} to a directory of your own.",
            )
        if stat.S_IMODE(found.st_mode) != 0o700:
            root.chmod(0o700)
    except OSError as error:
        raise StorageError(
            f"{root} cannot hold live frames: {error.strerror}.",
            hint=f"Set {DIRECTORY_VARIABLE} to a directory of your own.",
        ) from error
    return root


def remove_lanes(directory: Path) -> None:
    """Remove a run's lanes, and the directory of them all with the last."""
    shutil.rmtree(directory, ignore_errors=True)
    with contextlib.suppress(OSError):  # others are there
        directory.parent.rmdir()


def _parent() -> Path:
    given = os.environ.get(DIRECTORY_VARIABLE)
    if given:
        return Path(given).absolute()
    is_usable = _SHARED_MEMORY.is_dir() and os.access(_SHARED_MEMORY, os.W_OK | os.X_OK)
    return _SHARED_MEMORY if is_usable else Path(tempfile.gettempdir())
