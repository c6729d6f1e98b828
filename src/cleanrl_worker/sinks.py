"""Where an algorithm process writes its metrics: metrics.jsonl and, for people, its own log."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Protocol

from mosaic.contracts.events import finite

FLUSH_INTERVAL_S = 1.0
STATUS_INTERVAL_S = 10.0


class MetricSink(Protocol):
    def scalars(self, step: int, values: Mapping[str, float]) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class MetricFile:
    """metrics.jsonl: the full series, a line for every step at which something was logged."""

    def __init__(self, path: Path) -> None:
        self._file: IO[str] = path.open("a", encoding="utf-8", buffering=1 << 16)
        self._next_flush = 0.0

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        now = time.time()
        row = {"step": step, "time": now, "values": finite(values)}
        self._file.write(json.dumps(row, separators=(",", ":")) + "\n")
        if now >= self._next_flush:
            self._file.flush()
            self._next_flush = now + FLUSH_INTERVAL_S

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
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
        print(f"step {step} of {total}, mean return {mean}, {speed:.0f} steps/s", flush=True)
