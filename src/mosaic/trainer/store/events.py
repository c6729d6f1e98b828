"""Lifecycle events as they were written. Metrics are elsewhere, heartbeats only move the offset."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from mosaic.trainer.store.offsets import OffsetTable
from mosaic.trainer.store.text import storable

_OFFSETS = OffsetTable("event_offsets")


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One line of the spool; `offset` is its first byte."""

    offset: int
    event: str
    timestamp: float
    line: str


def offset(connection: sqlite3.Connection, run_id: str) -> int:
    """Return the first byte of the spool that is not stored here."""
    return _OFFSETS.get(connection, run_id)


def append(
    connection: sqlite3.Connection, run_id: str, rows: Sequence[StoredEvent], next_offset: int
) -> None:
    """Store events and the offset behind them. A batch that is stored already changes nothing."""
    if not _OFFSETS.advance(connection, run_id, next_offset):
        return
    connection.executemany(
        "INSERT INTO events (run_id, offset, event, timestamp, line) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        [(run_id, row.offset, row.event, _time(row.timestamp), storable(row.line)) for row in rows],
    )


def _time(timestamp: float) -> float:
    """Return 0 for NaN, which SQLite takes for nothing at all."""
    return 0.0 if math.isnan(timestamp) else timestamp


def lines(connection: sqlite3.Connection, run_id: str, limit: int) -> list[str]:
    """Return the last `limit` lines, oldest first."""
    rows = connection.execute(
        "SELECT line FROM events WHERE run_id = ? ORDER BY offset DESC LIMIT ?", (run_id, limit)
    ).fetchall()
    return [line for (line,) in reversed(rows)]


def remove(connection: sqlite3.Connection, run_id: str) -> None:
    connection.execute("DELETE FROM events WHERE run_id = ?", (run_id,))
    _OFFSETS.remove(connection, run_id)
