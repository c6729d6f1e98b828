"""Ring arrays as rows of bytes: row r of every column lies at index r % capacity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mosaic.contracts.errors import ConfigError

Array = NDArray[Any]

# What a segment may hold before compression: the bound on the memory that restoring one takes.
MAX_SEGMENT_BYTES = 64_000_000

# The oldest segment of a full ring is partly overwritten: at most this part of it is saved in vain.
MIN_SEGMENTS = 8

# A byte of an image row costs this much on disk: 500 bytes an 84x84 frame, the most we allow for.
# Measured: 17 (Breakout) to 282 (Enduro), docs/benchmarks/replay-checkpoint.md.
IMAGE_BYTE_COST = 500 / (84 * 84)
IMAGE_ROW_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Column:
    """What one row of a column is."""

    dtype: str
    shape: tuple[int, ...]


class Ring:
    """The arrays of a replay buffer, as bytes; it owns no memory of its own."""

    def __init__(self, columns: Mapping[str, Array]) -> None:
        # One order of columns in every file, whatever order the buffer was built in.
        arrays = dict(sorted(columns.items()))
        lengths = {len(array) for array in arrays.values()}
        assert len(lengths) == 1, f"columns of one ring have one length, not {lengths}"
        self.capacity = lengths.pop()
        self.columns = {
            name: Column(array.dtype.str, array.shape[1:]) for name, array in arrays.items()
        }
        self._rows = [_as_bytes(name, array) for name, array in arrays.items()]
        self.row_bytes = sum(int(rows.shape[1]) for rows in self._rows)

    def live_from(self, total: int) -> int:
        """Return the oldest row that the ring still holds after `total` were appended."""
        return max(0, total - self.capacity)

    def pieces(self, start: int, stop: int, live_from: int = 0) -> Iterator[tuple[int, Array]]:
        """Give the rows from start to stop, column by column, as contiguous bytes in the ring.

        Each piece comes with the number of bytes to skip before it: those of rows that are older
        than `live_from`, whose places newer rows have taken.
        """
        first = max(start, live_from)
        for rows in self._rows:
            skip = (first - start) * rows.shape[1]
            for low, high in self._spans(first, stop):
                yield skip, rows[low:high].reshape(-1)
                skip = 0

    def _spans(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Give the index ranges of consecutive rows: one, or two where they wrap round."""
        low = start % self.capacity
        before_wrap = min(stop - start, self.capacity - low)
        yield low, low + before_wrap
        if stop - start > before_wrap:
            yield 0, stop - start - before_wrap


def _as_bytes(name: str, array: Array) -> Array:
    assert array.size, f"column {name!r} is empty"
    assert not array.dtype.hasobject, f"column {name!r} holds Python objects"
    assert array.flags.c_contiguous, f"column {name!r} is not contiguous"
    return array.reshape(len(array), -1).view(np.uint8)


def rows_per_segment(ring: Ring, segment_bytes: int) -> int:
    """Choose the length of a segment: within its bytes, at least eight a ring."""
    limit = min(segment_bytes, MAX_SEGMENT_BYTES)
    if ring.row_bytes > limit:
        raise ConfigError(
            f"A replay row of {ring.row_bytes} bytes does not fit a segment of {limit} bytes.",
            hint="Store smaller observations, or set checkpoint_replay to none.",
        )
    return max(1, min(limit // ring.row_bytes, ring.capacity // MIN_SEGMENTS))


def estimate_disk_mb(
    columns: Mapping[str, Array], keep: int, interval_rows: int | None = None
) -> int:
    """Estimate the disk that the segments of `keep` checkpoints take. Rough, rather too high.

    Images are taken to compress as Atari frames do, everything else not at all. Checkpoints share
    segments: each adds at most the rows since the one before, `interval_rows` where it is known.
    Only shapes and types are looked at, so `numpy.broadcast_to(numpy.uint8(0), shape)` will do.
    """
    capacity = min(len(array) for array in columns.values())
    rows = capacity + keep * min(interval_rows or capacity, capacity)
    return round(sum(_disk_bytes_per_row(array) for array in columns.values()) * rows / 1e6)


def _disk_bytes_per_row(array: Array) -> float:
    row_bytes = array.nbytes / len(array)
    is_image = array.dtype == np.uint8 and row_bytes >= IMAGE_ROW_BYTES
    return row_bytes * IMAGE_BYTE_COST if is_image else row_bytes
