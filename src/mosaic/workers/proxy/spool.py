"""The spool: the file that a worker's stdout is, read in whole lines from any offset."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

BATCH_BYTES = 1 << 20
BATCH_LINES = 4096
LINE_LIMIT_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Batch:
    """Whole lines between two offsets, or, with a note, why there are none."""

    offset: int
    next_offset: int
    data: bytes
    note: str = ""


class Spool:
    """Reads what a worker writes; holds one batch in memory, however far behind it is."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._unended = (0, 0)  # a line's start, and how far it was searched for its end
        self.end: int | None = None

    def close_at_end(self) -> None:
        """Take the present end for the last: nobody writes any more."""
        self.end = self._size()

    def read(self, position: int) -> Batch | None:
        """Return the next lines from a position that starts a line; None while there is none."""
        limit = self._size() if self.end is None else self.end
        if position >= limit or (self._searched_to(position) >= limit and self.end is None):
            return None
        data = self._read(position, min(BATCH_BYTES, limit - position))
        cut = _end_of_lines(data)
        if cut:
            return Batch(position, position + cut, data[:cut])
        return self._read_long_line(position, limit)

    def _read_long_line(self, position: int, limit: int) -> Batch | None:
        """Return a line that is longer than a batch, or the last one, which may lack its end."""
        line_end = self._find_line_end(position, limit)
        if line_end is None:
            if self.end is None:
                return None
            line_end = limit
        length = line_end - position
        if length > LINE_LIMIT_BYTES:
            note = f"a line of {length} bytes was left out: at most {LINE_LIMIT_BYTES} are sent"
            return Batch(position, line_end, b"", note)
        return Batch(position, line_end, self._read(position, length))

    def _find_line_end(self, position: int, limit: int) -> int | None:
        at = self._searched_to(position)
        while at < limit and (block := self._read(at, min(BATCH_BYTES, limit - at))):
            found = block.find(b"\n")
            if found >= 0:
                return at + found + 1
            at += len(block)
        self._unended = (position, at)
        return None

    def _searched_to(self, position: int) -> int:
        start, searched_to = self._unended
        return searched_to if start == position else position

    def _read(self, offset: int, size: int) -> bytes:
        return b"" if (descriptor := self._open()) is None else os.pread(descriptor, size, offset)

    def _size(self) -> int:
        return 0 if (descriptor := self._open()) is None else os.fstat(descriptor).st_size

    def _open(self) -> int | None:
        if self._descriptor is None:
            try:
                self._descriptor = os.open(self._path, os.O_RDONLY)
            except FileNotFoundError:
                return None
        return self._descriptor


def _end_of_lines(data: bytes) -> int:
    """Return where the last whole line ends, or the last that a batch may hold; 0: none does."""
    if data.count(b"\n") <= BATCH_LINES:
        return data.rfind(b"\n") + 1
    end = 0
    for _ in range(BATCH_LINES):
        end = data.index(b"\n", end) + 1
    return end
