"""The interactive protocol: an environment stepped by lines of JSON, and where it is reached.

A worker under the daemon has no stdin: it listens on a socket in a directory that only its user can
open. Both sides know the place from the run's id.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from mosaic.contracts.errors import StorageError
from mosaic.contracts.identifiers import check_run_id

LINE_LIMIT_BYTES = 8 << 20


def socket_path(run_id: str) -> Path:
    # Short: the name of a socket has at most 107 bytes.
    return _directory() / f"{check_run_id(run_id)[-32:]}.sock"


def _directory() -> Path:
    return Path(tempfile.gettempdir()) / f"mosaic-{os.getuid()}"


def make_socket_directory() -> None:
    """Create the directory of the sockets; refuse one that others can reach into."""
    directory = _directory()
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        status = directory.lstat()
    except OSError as error:
        raise StorageError(f"{str(directory)!r} cannot be made: {error.strerror}.") from None
    is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    if not is_ours or stat.S_IMODE(status.st_mode) & 0o077:
        raise StorageError(
            f"{str(directory)!r} is open to others.", hint="Remove it, or set its mode to 0700."
        )
