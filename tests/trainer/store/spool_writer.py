"""A process that stores a spool until it is killed.

`python spool_writer.py VAR_DIR LINES` goes on where each database stands, as the daemon does: every
line is an event, and a point whose step is the line's number. It prints the offset of what is
stored in both.
"""

from __future__ import annotations

import random
import sqlite3
import sys
from concurrent.futures import Future
from pathlib import Path

from mosaic.contracts.paths import VarPaths
from mosaic.trainer.store import events, metrics
from mosaic.trainer.store.events import StoredEvent
from mosaic.trainer.store.store import Store

RUN = "01JRUN"
LINE_BYTES = 40
TAG = "charts/episodic_return"
# As many batches are sent before the first must be acknowledged.
IN_FLIGHT = 8


def store_events(connection: sqlite3.Connection, first: int, last: int) -> int:
    begin = max(first, events.offset(connection, RUN) // LINE_BYTES)
    rows = [
        StoredEvent(number * LINE_BYTES, "checkpoint_saved", float(number), f"line {number}")
        for number in range(begin, last)
    ]
    events.append(connection, RUN, rows, last * LINE_BYTES)
    return events.offset(connection, RUN)


def store_points(connection: sqlite3.Connection, first: int, last: int) -> int:
    begin = max(first, metrics.offset(connection, RUN) // LINE_BYTES)
    points = [
        (TAG, number, float(number), float(number), float(number), 1)
        for number in range(begin, last)
    ]
    metrics.append(connection, RUN, points, last * LINE_BYTES)
    return metrics.offset(connection, RUN)


def main(var_dir: str, lines: str) -> None:
    store = Store.open(VarPaths(Path(var_dir)))
    stored = [
        store.runs.read(lambda connection: events.offset(connection, RUN)).result(),
        store.telemetry.read(lambda connection: metrics.offset(connection, RUN)).result(),
    ]
    number, end = min(stored) // LINE_BYTES, int(lines)
    waiting: list[tuple[Future[int], Future[int]]] = []
    while number < end or waiting:
        while number < end and len(waiting) < IN_FLIGHT:
            last = min(end, number + random.randint(1, 60))
            waiting.append(
                (
                    store.runs.write(lambda c, a=number, b=last: store_events(c, a, b)),
                    store.telemetry.write(lambda c, a=number, b=last: store_points(c, a, b)),
                )
            )
            number = last
        print(min(future.result() for future in waiting.pop(0)), flush=True)
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
