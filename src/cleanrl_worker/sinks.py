"""Where an algorithm process writes its metrics: metrics.jsonl and, for people, its own log.

A full disk costs what would have been written, never the training.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Protocol

from mosaic.contracts.events import finite

FLUSH_INTERVAL_S = 1.0
STATUS_INTERVAL_S = 10.0
PENDING_LIMIT_BYTES = 16 << 20


class MetricSink(Protocol):
    def scalars(self, step: int, values: Mapping[str, float]) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


def say(text: str, file: IO[str]) -> None:
    """Print a line into a log, unless its disk is full."""
    with contextlib.suppress(OSError):
        print(text, file=file, flush=True)


class MetricFile:
    """metrics.jsonl: the full series, a line for every step at which something was logged.

    Lines that find no room on the disk are kept, up to a limit, and written once there is some.
    """

    def __init__(self, path: Path, limit_bytes: int = PENDING_LIMIT_BYTES) -> None:
        self._file = path.open("ab", buffering=0)
        self._pending = bytearray()
        self._limit_bytes = limit_bytes
        self._next_flush = 0.0
        self._has_room = True

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        now = time.time()
        row = {"step": step, "time": now, "values": finite(values)}
        if len(self._pending) < self._limit_bytes:
            self._pending += json.dumps(row, separators=(",", ":")).encode() + b"\n"
        if now >= self._next_flush:
            self.flush()
            self._next_flush = now + FLUSH_INTERVAL_S

    def flush(self) -> None:
        try:
            while self._pending:
                del self._pending[: self._file.write(self._pending)]
            self._has_room = True
        except OSError as error:
            if self._has_room:
                name = Path(self._file.name).name
                say(f"warning: {name} cannot be written: {error.strerror}.", sys.stderr)
            self._has_room = False

    def close(self) -> None:
        self.flush()
        self._file.close()


class StatusLines:
    """A line on stdout every ten seconds, which a worker keeps in the run's log."""

    def __init__(self) -> None:
        self._next = 0.0

    def show(self, step: int, total: int, returns: Collection[float], speed: float) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + STATUS_INTERVAL_S
        mean = f"{sum(returns) / len(returns):.2f}" if returns else "none yet"
        say(f"step {step} of {total}, mean return {mean}, {speed:.0f} steps/s", sys.stdout)
