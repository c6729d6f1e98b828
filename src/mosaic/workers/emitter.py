"""The event emitter: the only writer of a worker's stdout."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import select
import sys
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.contracts.events import Event

_LOG = logging.getLogger(__name__)

_GONE = frozenset({errno.EPIPE, errno.EBADF})
# What may be left out when nobody reads: the next one says the same.
_LOSSY = frozenset({"heartbeat"})
_BACKLOG_LIMIT = 64


class EventEmitter:
    """Write events as whole lines, in order, from any thread, without ever making one wait.

    A thread of its own does the writing. A reader that is slow, gone or out of disk space costs
    events; it never stops or slows the training.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._sinks = [] if descriptor is None else [_Sink(descriptor)]
        self._pending: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._is_closing = False
        self._writer = threading.Thread(target=self._write_pending, name="events", daemon=True)
        self._writer.start()

    @classmethod
    def claim_stdout(cls) -> EventEmitter:
        """Take stdout over: from here on whatever else is printed goes to stderr."""
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        try:
            descriptor: int | None = os.dup(1)
        except OSError:  # started with stdout closed
            descriptor = None
        try:
            os.dup2(2, 1)
        except OSError:  # started with stderr closed
            _point_stdout_nowhere()
        return cls(descriptor)

    @property
    def backlog(self) -> int:
        """Lines that are not written yet."""
        return len(self._pending)

    def record_to(self, path: Path) -> None:
        """Write every later event to this file as well, unless stdout is that file already."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        with self._changed:
            if any(sink.is_same_file(descriptor) for sink in self._sinks):
                os.close(descriptor)
            else:
                self._sinks.append(_Sink(descriptor))

    def emit(self, event: str, run_id: str | None, payload: Mapping[str, Any]) -> None:
        line = Event.now(event, run_id, payload).to_line().encode()
        with self._changed:
            if event in _LOSSY and len(self._pending) >= _BACKLOG_LIMIT:
                return
            self._append(line)

    def write_line(self, text: str) -> None:
        """Write a line that is no event: what a dry run was asked to print."""
        with self._changed:
            self._append(text.encode() + b"\n")

    def close(self, timeout_s: float | None = None) -> None:
        """Write what is pending, then stop; with a timeout, give up on a reader that hangs."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._writer.join(timeout_s)

    def _append(self, line: bytes) -> None:
        self._pending.append(line)
        self._changed.notify()

    def _write_pending(self) -> None:
        while True:
            with self._changed:
                while not self._pending and not self._is_closing:
                    self._changed.wait()
                if not self._pending:
                    break
                line = self._pending[0]
                sinks = list(self._sinks)
            for sink in sinks:
                sink.write(line)
            with self._changed:
                self._pending.popleft()
        for sink in self._sinks:
            sink.close()


def _point_stdout_nowhere() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere != 1:
        os.dup2(nowhere, 1)
        os.close(nowhere)


class _Sink:
    """A descriptor that lines go to, and what is known of its health."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_torn = False  # the last line was cut off in the middle
        self._complaint: int | None = None

    def is_same_file(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.fstat(descriptor))
        except OSError:
            return False

    def write(self, line: bytes) -> None:
        if self._complaint in _GONE:
            return
        data = memoryview(b"\n" + line if self._is_torn else line)
        try:
            while data:
                data = data[self._write_some(data) :]
                self._is_torn = bool(data)
            self._complaint = None
        except OSError as error:
            if error.errno != self._complaint:
                _LOG.warning("an event could not be written: %s", error.strerror)
            self._complaint = error.errno

    def _write_some(self, data: memoryview) -> int:
        while True:
            try:
                return os.write(self._descriptor, data)
            except BlockingIOError:  # whoever opened it made it non-blocking
                select.select([], [self._descriptor], [])

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._descriptor)
