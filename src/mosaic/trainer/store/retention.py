"""Keep the metrics' file within a size: raw points and steps go, envelopes and episodes stay.

Everything happens in small writes, so that events are stored in between. The functions block: call
them from a thread that may wait. They can be cut short at any point, and called again.
"""

from __future__ import annotations

import functools
import sqlite3

from mosaic.trainer.store.database import Database

# A write of this size takes some tens of milliseconds.
CHUNK_ROWS = 20_000
CHUNK_PAGES = 2_000


def trim(telemetry: Database, runs: Database, limit_bytes: int) -> list[str]:
    """Drop raw points and steps of the longest-ended runs until the rest fits; return those."""
    sweep(telemetry)
    candidates = telemetry.read(_untrimmed_runs).result()
    trimmed: list[str] = []
    for run_id in runs.read(_ended_runs).result():
        if telemetry.read(used_bytes).result() <= limit_bytes:
            break
        if run_id in candidates:
            telemetry.write(functools.partial(_mark, run_id=run_id)).result()
            sweep(telemetry)
            trimmed.append(run_id)
    return trimmed


def sweep(telemetry: Database) -> None:
    """Delete the rows of removed and trimmed series and recordings, and give their room back."""
    while telemetry.write(_sweep_some).result():
        pass
    while telemetry.write(_sweep_some_recorded).result():
        pass
    while telemetry.write(_vacuum_some).result():
        pass


def used_bytes(connection: sqlite3.Connection) -> int:
    """Return the size without the pages that are free to be used again."""
    pages = _pragma(connection, "page_count") - _pragma(connection, "freelist_count")
    return pages * _pragma(connection, "page_size")


def _ended_runs(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute(
        "SELECT run_id FROM runs WHERE outcome IS NOT NULL ORDER BY coalesce(ended_at, created_at)"
    )
    return [run_id for (run_id,) in rows.fetchall()]


def _untrimmed_runs(connection: sqlite3.Connection) -> set[str]:
    rows = connection.execute(
        "SELECT run_id FROM series WHERE NOT is_trimmed "
        "UNION SELECT run_id FROM recordings WHERE NOT is_trimmed"
    )
    return {run_id for (run_id,) in rows.fetchall()}


def _mark(connection: sqlite3.Connection, run_id: str) -> None:
    """From here on the envelopes answer for this run, and of its episodes the ends are known."""
    for table in ("series", "recordings"):
        connection.execute(
            f"UPDATE {table} SET is_trimmed = 1, has_leftovers = 1 WHERE run_id = ?", (run_id,)
        )


def _sweep_some(connection: sqlite3.Connection) -> bool:
    """Delete some leftovers of one series; return whether there were any."""
    row = connection.execute(
        "SELECT series_id, run_id IS NULL FROM series WHERE has_leftovers LIMIT 1"
    ).fetchone()
    if row is None:
        return False
    series_id, is_removed = row
    if _delete_some(connection, "points", "series_id", "position", series_id):
        return True
    if not is_removed:
        connection.execute("UPDATE series SET has_leftovers = 0 WHERE series_id = ?", (series_id,))
    elif not _delete_some(connection, "rollups", "series_id", "level, bucket", series_id):
        connection.execute("DELETE FROM series WHERE series_id = ?", (series_id,))
    return True


def _sweep_some_recorded(connection: sqlite3.Connection) -> bool:
    """Delete some leftovers of one recording; return whether there were any."""
    row = connection.execute(
        "SELECT recording_id, run_id IS NULL FROM recordings WHERE has_leftovers LIMIT 1"
    ).fetchone()
    if row is None:
        return False
    recording_id, is_removed = row
    if _delete_some(connection, "steps", "recording_id", "position", recording_id):
        return True
    if not is_removed:
        connection.execute(
            "UPDATE recordings SET has_leftovers = 0 WHERE recording_id = ?", (recording_id,)
        )
    elif not _delete_some(connection, "episodes", "recording_id", "position", recording_id):
        connection.execute("DELETE FROM recordings WHERE recording_id = ?", (recording_id,))
    return True


def _delete_some(
    connection: sqlite3.Connection, table: str, owner: str, key: str, owner_id: int
) -> bool:
    deleted = connection.execute(
        f"DELETE FROM {table} WHERE ({owner}, {key}) IN "
        f"(SELECT {owner}, {key} FROM {table} WHERE {owner} = ? LIMIT {CHUNK_ROWS})",
        (owner_id,),
    ).rowcount
    return deleted > 0


def _vacuum_some(connection: sqlite3.Connection) -> bool:
    """Give some free pages back to the file system; return whether there were any."""
    free = _pragma(connection, "freelist_count")
    # The pages go one by one as the statement is stepped.
    connection.execute(f"PRAGMA incremental_vacuum({CHUNK_PAGES})").fetchall()
    return free > _pragma(connection, "freelist_count")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
