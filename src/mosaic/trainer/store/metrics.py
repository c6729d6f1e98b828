"""Metric series: points as they came, and envelopes of every power of ten of them.

A point is (tag, step, value, minimum, maximum, count): its worker may have merged `count` points
into one. Positions count the points of a series in the order they came, whatever their steps.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mosaic.trainer.store.envelopes import Envelope, envelope
from mosaic.trainer.store.offsets import OffsetTable
from mosaic.trainer.store.rollups import Row, insert_points
from mosaic.trainer.store.text import storable

__all__ = [
    "Envelope",
    "Point",
    "TagSummary",
    "advance",
    "append",
    "envelope",
    "insert",
    "offset",
    "remove",
    "tags",
]

Point = tuple[str, int, float, float, float, int]

_OFFSETS = OffsetTable("metric_offsets")


@dataclass(frozen=True, slots=True)
class TagSummary:
    """`count` is of points stored; the last value may be NaN."""

    tag: str
    count: int
    last_step: int
    last_value: float


@dataclass(slots=True)
class _Series:
    series_id: int
    points: int
    last_step: int = 0
    last_value: float = math.nan


def offset(connection: sqlite3.Connection, run_id: str) -> int:
    """Return the first byte of the spool that is not stored here."""
    return _OFFSETS.get(connection, run_id)


def append(
    connection: sqlite3.Connection, run_id: str, points: Sequence[Point], next_offset: int
) -> None:
    """Store points, their rollups and the offset behind them.

    A batch that is stored already changes nothing.
    """
    if advance(connection, run_id, next_offset):
        insert(connection, run_id, points)


def advance(connection: sqlite3.Connection, run_id: str, next_offset: int) -> bool:
    """Set the offset of this database; False where what lies before it is stored already."""
    return _OFFSETS.advance(connection, run_id, next_offset)


def insert(connection: sqlite3.Connection, run_id: str, points: Sequence[Point]) -> None:
    """Store points and their rollups behind those that are there."""
    if not points:
        return
    series = _find_series(connection, run_id, {point[0] for point in points})
    insert_points(connection, [_place(series[point[0]], point) for point in points])
    _store_counts(connection, series.values())


def _place(series: _Series, point: Point) -> Row:
    """Return the row of a point, behind the last one of its series."""
    _, step, value, minimum, maximum, count = point
    value, low, high = float(value), float(minimum), float(maximum)
    bounds = (None, None) if low == value == high else (low, high)
    row = (series.series_id, series.points, step, value, *bounds, count)
    series.points += 1
    series.last_step, series.last_value = step, value
    return row


def _find_series(
    connection: sqlite3.Connection, run_id: str, tags: Iterable[str]
) -> dict[str, _Series]:
    """Return the series of each tag, new ones included."""
    rows = connection.execute(
        "SELECT tag, series_id, points FROM series WHERE run_id = ?", (run_id,)
    )
    known = {tag: _Series(series_id, points) for tag, series_id, points in rows.fetchall()}
    for tag in map(storable, tags):
        if tag not in known:
            known[tag] = _new_series(connection, run_id, tag)
    return {tag: known[storable(tag)] for tag in tags}


def _new_series(connection: sqlite3.Connection, run_id: str, tag: str) -> _Series:
    cursor = connection.execute(
        "INSERT INTO series (run_id, tag, points, last_step) VALUES (?, ?, 0, 0)", (run_id, tag)
    )
    assert cursor.lastrowid is not None
    return _Series(cursor.lastrowid, 0)


def _store_counts(connection: sqlite3.Connection, series: Iterable[_Series]) -> None:
    connection.executemany(
        "UPDATE series SET points = ?, last_step = ?, last_value = ? WHERE series_id = ?",
        [(each.points, each.last_step, each.last_value, each.series_id) for each in series],
    )


def tags(connection: sqlite3.Connection, run_id: str) -> list[TagSummary]:
    rows = connection.execute(
        "SELECT tag, points, last_step, last_value FROM series WHERE run_id = ? ORDER BY tag",
        (run_id,),
    ).fetchall()
    return [
        TagSummary(tag, count, step, math.nan if value is None else value)
        for tag, count, step, value in rows
    ]


def remove(connection: sqlite3.Connection, run_id: str) -> None:
    """Forget a run's metrics at once; retention.sweep gives their room back bit by bit."""
    connection.execute(
        "UPDATE series SET run_id = NULL, has_leftovers = 1 WHERE run_id = ?", (run_id,)
    )
    _OFFSETS.remove(connection, run_id)
