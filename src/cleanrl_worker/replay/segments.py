"""Files of replay rows: one zstandard frame, the columns one after the other.

Rows go in as they are, at level 3: XORed with the frame before they take about as much room and
more time, transposed more of both. zstandard finds the earlier frame by itself, also where the rows
of several environments alternate (docs/benchmarks/replay-checkpoint.md).
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import zstandard

from cleanrl_worker.replay.ring import Ring
from cleanrl_worker.replay.snapshots import RowFile, segment_file
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.files import sync_directory

ASIDE_PREFIX = ".replay-"
ASIDE_SUFFIX = ".tmp"

_LEVEL = 3
# Level 3 asks for 2 MiB of window; a file that asks for more memory than this is none of ours.
_MAX_WINDOW_BYTES = 1 << 23
# Each call into zstandard gives up the GIL; between two calls another thread may take it.
_CHUNK_BYTES = 1 << 22
_KEPT = (
    "With checkpoint_replay=latest the newest checkpoint alone keeps its replay buffer: resume "
    "from that one, or train with checkpoint_replay=all."
)


def write_rows(
    directory: Path, ring: Ring, start: int, stop: int, *, name: str | None = None
) -> RowFile:
    """Write rows into a file, whole or absent; without a name it is named after its content."""
    handle, aside = tempfile.mkstemp(dir=directory, prefix=ASIDE_PREFIX, suffix=ASIDE_SUFFIX)
    digest = hashlib.sha256()
    size_bytes = 0
    try:
        with os.fdopen(handle, "wb") as file:
            for data in _compressed(ring, start, stop):
                digest.update(data)
                size_bytes += file.write(data)
            file.flush()
            os.fsync(file.fileno())
        sha256 = digest.hexdigest()
        name = name or segment_file(start, stop, sha256)
        os.chmod(aside, 0o644)
        os.replace(aside, directory / name)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside)
        raise
    sync_directory(directory)
    return RowFile(name, start, stop, size_bytes, sha256)


def _compressed(ring: Ring, start: int, stop: int) -> Iterator[bytes]:
    raw_bytes = (stop - start) * ring.row_bytes
    compressor = zstandard.ZstdCompressor(level=_LEVEL).compressobj(size=raw_bytes)
    for _, piece in ring.pieces(start, stop):
        for offset in range(0, piece.size, _CHUNK_BYTES):
            yield compressor.compress(piece[offset : offset + _CHUNK_BYTES].data)
    yield compressor.flush()


def read_rows(path: Path, expected: RowFile, ring: Ring, live_from: int) -> None:
    """Put the rows of a file into the ring, those before `live_from` left out.

    Size and checksum are verified before a byte is decompressed. Whatever the file says, no more
    memory is taken than its size on disk, its window and the ring that is there already.
    """
    data = _verified(path, expected)
    try:
        _check_frame(path, data, (expected.stop - expected.start) * ring.row_bytes)
        with zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES).stream_reader(
            data, read_across_frames=False
        ) as reader:
            for skip, piece in ring.pieces(expected.start, expected.stop, live_from):
                _skip(reader, skip)
                if _read_into(reader, piece.data) < piece.size:
                    raise _damaged(path, "it ends too early")
            if reader.read(1):
                raise _damaged(path, "it holds more rows than the checkpoint says")
    except zstandard.ZstdError as error:
        raise _damaged(path, f"it cannot be decompressed ({error})") from None


def _verified(path: Path, expected: RowFile) -> bytes:
    data = _contents(path, expected.size_bytes)
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 != expected.sha256:
        raise _damaged(path, f"its SHA-256 is {sha256[:16]}…, not {expected.sha256[:16]}…")
    return data


def _contents(path: Path, size_bytes: int) -> bytes:
    try:
        # A link may lead anywhere, and a pipe never ends.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise _damaged(path, "it is not a regular file")
            if status.st_size != size_bytes:
                raise _damaged(path, f"it has {status.st_size} bytes, not {size_bytes}")
            return file.read(size_bytes)
    except FileNotFoundError:
        raise _damaged(path, "it is missing", _KEPT) from None
    except OSError as error:
        reason = "it is a link" if error.errno == errno.ELOOP else f"{error.strerror}"
        raise _damaged(path, reason) from None


def _check_frame(path: Path, data: bytes, raw_bytes: int) -> None:
    """Compare what the frame claims with what the rows take, before anything is allocated."""
    claimed = zstandard.frame_content_size(data)
    if claimed != raw_bytes:
        raise _damaged(path, f"it claims {claimed} bytes of rows, not {raw_bytes}")


def _skip(reader: zstandard.ZstdDecompressionReader, size_bytes: int) -> None:
    while size_bytes > 0:
        skipped = len(reader.read(min(size_bytes, _CHUNK_BYTES)))
        if skipped == 0:
            return
        size_bytes -= skipped


def _read_into(reader: zstandard.ZstdDecompressionReader, target: memoryview) -> int:
    filled = 0
    while filled < len(target):
        count = reader.readinto(target[filled : filled + _CHUNK_BYTES])
        if count == 0:
            break
        filled += count
    return filled


def _damaged(path: Path, what: str, hint: str = "Resume from another checkpoint.") -> ConfigError:
    return ConfigError(f"Replay file {str(path)!r} is damaged: {what}.", hint=hint)
