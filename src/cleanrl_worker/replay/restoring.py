"""From a checkpoint's replay rows back to a ring, and its segments into another run's directory."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from cleanrl_worker.replay.ring import Array, Ring
from cleanrl_worker.replay.segments import read_rows
from cleanrl_worker.replay.snapshots import RowFile, Snapshot, parse_snapshot
from mosaic.contracts.files import sync_directory, write_bytes_whole

# Another device, a file system without links, a limit on links, and links that are not allowed.
_NO_LINK = {errno.EXDEV, errno.EOPNOTSUPP, errno.EMLINK, errno.EPERM}


def restore(
    directory: Path, checkpoint_dir: Path, snapshot: object, columns: Mapping[str, Array]
) -> int:
    """Fill the columns with a checkpoint's rows, bit for bit, and return their total.

    `directory` holds the segments, `checkpoint_dir` the tail, `snapshot` is what
    `ReplayArchive.snapshot` returned. Any fault is one error that names the file; the columns may
    then be filled in part.
    """
    ring = Ring(columns)
    parsed = parse_snapshot(snapshot)
    parsed.check_fits(ring)
    fill(ring, directory, checkpoint_dir, parsed)
    return parsed.total


def fill(ring: Ring, directory: Path, checkpoint_dir: Path, snapshot: Snapshot) -> None:
    live_from = ring.live_from(snapshot.total)
    for segment in snapshot.segments:
        read_rows(directory / segment.file, segment, ring, live_from)
    if snapshot.tail is not None:
        read_rows(checkpoint_dir / snapshot.tail.file, snapshot.tail, ring, live_from)


def take_over(segments: Iterable[RowFile], source: Path, directory: Path) -> None:
    """Give a directory its own names of segments that lie in another one."""
    for segment in segments:
        target = directory / segment.file
        # There already, as in a run that continues in its own directory: the name is its content.
        with contextlib.suppress(FileExistsError):
            _link_or_copy(source / segment.file, target)
    sync_directory(directory)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        write_bytes_whole(target, source.read_bytes())
