"""Whole series, read in pieces: every point of a run in the order in which it came."""

from __future__ import annotations

import functools
import math
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from mosaic.trainer.store.database import Database
from mosaic.trainer.store.metrics import Point

_PIECE = 20_000

_POINTS = """
    SELECT position, step, value, coalesce(minimum, value), coalesce(maximum, value), samples
    FROM points WHERE series_id = ? AND position > ? ORDER BY position LIMIT ?"""
_BUCKETS = """
    SELECT bucket, last_step, iif(weight > 0, total / weight, NULL), minimum, maximum, samples
    FROM rollups WHERE series_id = ? AND level = 1 AND bucket > ? ORDER BY bucket LIMIT ?"""


@dataclass(frozen=True, slots=True)
class StoredSeries:
    series_id: int
    tag: str
    is_trimmed: bool  # its points are gone, and means of ten of them remain


def all_series(telemetry: Database, run_id: str) -> list[StoredSeries]:
    def work(connection: sqlite3.Connection) -> list[StoredSeries]:
        rows = connection.execute(
            "SELECT series_id, tag, is_trimmed FROM series WHERE run_id = ? ORDER BY tag", (run_id,)
        )
        return [StoredSeries(key, tag, bool(trimmed)) for key, tag, trimmed in rows.fetchall()]

    return telemetry.read(work).result()


def all_points(telemetry: Database, series: StoredSeries) -> Iterator[list[Point]]:
    """Yield every point of a series, or of a trimmed one what is left. Blocks; for a thread."""
    after = -1
    while True:
        rows = telemetry.read(functools.partial(_piece, series=series, after=after)).result()
        if not rows:
            return
        after = rows[-1][0]
        yield [
            (series.tag, step, _number(value), _number(low), _number(high), count)
            for _, step, value, low, high, count in rows
        ]


def _piece(
    connection: sqlite3.Connection, series: StoredSeries, after: int
) -> list[tuple[int, int, float | None, float | None, float | None, int]]:
    statement = _BUCKETS if series.is_trimmed else _POINTS
    return connection.execute(statement, (series.series_id, after, _PIECE)).fetchall()


def _number(value: float | None) -> float:
    return math.nan if value is None else value
