"""The end of a log, at once however long it is, and what is written to it from then on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import BinaryIO

LINE_LIMIT_BYTES = 1_000_000
CUT_MARK = b" [cut]"

_BLOCK_BYTES = 64 << 10
# However many lines are asked for: an answer has to fit a message, and the daemon's memory.
_TAIL_LIMIT_BYTES = 8 << 20
_PART_BYTES = 1 << 20
_POLL_S = 0.1


def tail(path: Path, lines: int) -> tuple[bytes, int]:
    """Return the last lines of a file, and the offset behind them; an absent file has none."""
    try:
        with path.open("rb") as file:
            data, end = _read_back(file, max(0, lines))
    except (FileNotFoundError, NotADirectoryError):
        return b"", 0
    return cut_long_lines(data), end


def _read_back(file: BinaryIO, lines: int) -> tuple[bytes, int]:
    """Read blocks from the end until they hold that many lines, or more than anybody reads."""
    end = start = file.seek(0, os.SEEK_END)
    blocks: list[bytes] = []
    ends_of_lines = 0
    # One more: the newline before the first of them.
    while start > 0 and ends_of_lines <= lines and end - start < _TAIL_LIMIT_BYTES:
        size = min(_BLOCK_BYTES, start)
        start -= size
        file.seek(start)
        blocks.append(file.read(size))
        ends_of_lines += blocks[-1].count(b"\n")
    data = b"".join(reversed(blocks))
    found = data.removesuffix(b"\n").split(b"\n")
    if start > 0 and 1 < len(found) <= lines:
        found = found[1:]  # its beginning lies before what was read
    text = b"\n".join(found[-lines:] if lines else ())
    return text + (b"\n" if lines and data.endswith(b"\n") else b""), end


def cut_long_lines(data: bytes) -> bytes:
    """Cut every line of more than a million bytes: nobody reads it, and a terminal chokes on it."""
    if len(data) <= LINE_LIMIT_BYTES:
        return data
    return b"".join(
        line
        if len(line) <= LINE_LIMIT_BYTES
        else line[:LINE_LIMIT_BYTES] + CUT_MARK + (b"\n" if line.endswith(b"\n") else b"")
        for line in data.splitlines(keepends=True)
    )


async def follow(
    path: Path, offset: int, *, until: Callable[[], bool] = lambda: False
) -> AsyncIterator[bytes]:
    """Yield what is written behind the offset, as it comes, until `until` holds and all was read.

    A file that is not there yet is waited for; one that was replaced, or shortened, is read from
    its beginning.
    """
    follower = _Follower(path, offset)
    while True:
        # Asked before the read: what was written up to then is in it.
        is_over = until()
        before = follower.offset
        data = await asyncio.to_thread(follower.read, is_over)
        if data:
            yield data
        elif follower.offset == before:
            if is_over:
                return
            await asyncio.sleep(_POLL_S)


class _Follower:
    def __init__(self, path: Path, offset: int) -> None:
        self._path = path
        self.offset = offset
        self._inode: int | None = None
        self._line_bytes = 0  # of the line that was begun and has not ended

    def read(self, is_last: bool) -> bytes:
        """Return new whole lines; part of one only where it is long, or the last."""
        try:
            with self._path.open("rb") as file:
                self._notice_replacement(os.fstat(file.fileno()))
                file.seek(self.offset)
                data = file.read(_PART_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return b""
        whole = data.rfind(b"\n") + 1
        if whole == 0 and (is_last or len(data) == _PART_BYTES):
            whole = len(data)
        self.offset += whole
        return self._cut(data[:whole])

    def _notice_replacement(self, status: os.stat_result) -> None:
        is_other = self._inode is not None and status.st_ino != self._inode
        if is_other or status.st_size < self.offset:
            self.offset = self._line_bytes = 0
        self._inode = status.st_ino

    def _cut(self, data: bytes) -> bytes:
        """Drop what goes beyond the limit of a line that came in several reads."""
        first, newline, rest = data.partition(b"\n")
        kept = first[: max(0, LINE_LIMIT_BYTES - self._line_bytes)]
        is_cut_here = self._line_bytes <= LINE_LIMIT_BYTES < self._line_bytes + len(first)
        self._line_bytes = 0 if newline else self._line_bytes + len(first)
        return kept + (CUT_MARK if is_cut_here else b"") + newline + cut_long_lines(rest)
