"""From a thread that writes a file to a coroutine that sends it, neither far ahead of the other."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import AsyncIterator, Callable
from typing import IO

PIECE_BYTES = 1 << 20
_AHEAD = 4  # pieces


class _Left(Exception):
    """Nobody reads any more."""


class _Pipe(io.RawIOBase):
    """The writer's end: blocks while the reader is behind, and raises once it is gone."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pieces: asyncio.Queue[bytes | BaseException | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        self._gathered = bytearray()
        self._is_left = False

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._gathered += data
        while len(self._gathered) >= PIECE_BYTES:
            self._put(bytes(self._gathered[:PIECE_BYTES]))
            del self._gathered[:PIECE_BYTES]
        return len(data)

    def finish(self, error: BaseException | None) -> None:
        if error is None and self._gathered:
            self._put(bytes(self._gathered))
        self._loop.call_soon_threadsafe(self._pieces.put_nowait, error)

    def _put(self, piece: bytes) -> None:
        self._room.acquire()
        if self._is_left:
            raise _Left
        self._loop.call_soon_threadsafe(self._pieces.put_nowait, piece)

    async def take(self) -> bytes | BaseException | None:
        piece = await self._pieces.get()
        self._room.release()
        return piece

    def leave(self) -> None:
        self._is_left = True
        self._room.release()


async def pieces_of(write: Callable[[IO[bytes]], None]) -> AsyncIterator[bytes]:
    """Run `write` in a thread, and yield what it writes as it comes."""
    pipe = _Pipe(asyncio.get_running_loop())

    def run() -> None:
        error: BaseException | None = None
        try:
            write(pipe)  # type: ignore[arg-type]
        except _Left:
            return
        except Exception as raised:  # noqa: BLE001 - raised again where it is read
            error = raised
        try:
            pipe.finish(error)
        except (_Left, RuntimeError):  # the reader, or its loop, is gone
            return

    thread = threading.Thread(target=run, name="export", daemon=True)
    thread.start()
    try:
        while (piece := await pipe.take()) is not None:
            if isinstance(piece, BaseException):
                raise piece
            yield piece
    finally:
        pipe.leave()
