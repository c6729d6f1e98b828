"""The table of runs: functions over a connection, for Database.write and Database.read."""

from __future__ import annotations

import sqlite3
from typing import Any

from mosaic.contracts.errors import ConfigError, NotFound
from mosaic.contracts.states import RunState, is_terminal
from mosaic.trainer.store.run_pages import RunPage, RunQuery, page
from mosaic.trainer.store.run_record import (
    DETAILS,
    FIELDS,
    WHOLE,
    RunRecord,
    read_row,
    write_values,
)

__all__ = [
    "RunPage",
    "RunQuery",
    "RunRecord",
    "by_idempotency_key",
    "counts",
    "find",
    "get",
    "insert",
    "page",
    "remove",
    "unfinished",
    "update",
]

NAMED_MATCHES = 5

_OWN = tuple(name for name in FIELDS if name not in DETAILS)
_CHANGEABLE = frozenset(FIELDS) - {"run_id", "created_at", "revision"}
_UNFINISHED = ", ".join(f"'{state}'" for state in RunState if not is_terminal(state))


def insert(connection: sqlite3.Connection, record: RunRecord) -> None:
    values = write_values({name: getattr(record, name) for name in FIELDS})
    for table, names in (("runs", _OWN), ("run_details", ("run_id", *DETAILS))):
        marks = ", ".join(f":{name}" for name in names)
        connection.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", values)


def get(connection: sqlite3.Connection, run_id: str) -> RunRecord | None:
    return _get_by(connection, "run_id", run_id)


def by_idempotency_key(connection: sqlite3.Connection, key: str) -> RunRecord | None:
    return _get_by(connection, "idempotency_key", key)


def _get_by(connection: sqlite3.Connection, column: str, value: str) -> RunRecord | None:
    row = connection.execute(f"{WHOLE} WHERE {column} = ?", (value,)).fetchone()
    return None if row is None else read_row(row)


def find(connection: sqlite3.Connection, prefix: str) -> RunRecord:
    """Return the run of this id, or the one whose id begins so; runs in the bin count."""
    if not prefix:
        raise ConfigError("The run id is empty: give one, or the first letters of one.")
    record = get(connection, prefix)
    if record is not None:
        return record
    bounds = (prefix, prefix + chr(0x10FFFF))
    rows = connection.execute(
        "SELECT run_id FROM runs WHERE run_id >= ? AND run_id < ? ORDER BY run_id DESC LIMIT ?",
        (*bounds, NAMED_MATCHES + 1),
    ).fetchall()
    if not rows:
        raise NotFound(
            f"No run has the id {prefix!r}, nor one that begins so.",
            hint="'mosaic ps --all' lists every run.",
        )
    if len(rows) > 1:
        raise _ambiguous(prefix, [run_id for (run_id,) in rows])
    found = get(connection, rows[0][0])
    assert found is not None
    return found


def _ambiguous(prefix: str, matches: list[str]) -> ConfigError:
    more = ", ..." if len(matches) > NAMED_MATCHES else ""
    return ConfigError(
        f"The run id {prefix!r} is ambiguous: it begins "
        f"{', '.join(matches[:NAMED_MATCHES])}{more}.",
        hint="Give more letters.",
    )


def update(connection: sqlite3.Connection, run_id: str, **changes: Any) -> RunRecord:
    """Change fields of a run; state and outcome of one that has ended are refused by the table."""
    assert changes.keys() <= _CHANGEABLE, changes
    values = {**write_values(changes), "run_id": run_id}
    own = [f"{name} = :{name}" for name in changes if name not in DETAILS]
    details = [f"{name} = :{name}" for name in changes if name in DETAILS]
    try:
        _set(connection, "runs", [*own, "revision = revision + 1"], values)
    except sqlite3.IntegrityError as error:
        if error.sqlite_errorname != "SQLITE_CONSTRAINT_TRIGGER":
            raise
        raise _ended(connection, run_id) from None
    if details:
        _set(connection, "run_details", details, values)
    record = get(connection, run_id)
    if record is None:
        raise NotFound(f"There is no run {run_id!r}.")
    return record


def _set(
    connection: sqlite3.Connection, table: str, assignments: list[str], values: dict[str, Any]
) -> None:
    connection.execute(
        f"UPDATE {table} SET {', '.join(assignments)} WHERE run_id = :run_id", values
    )


def _ended(connection: sqlite3.Connection, run_id: str) -> ConfigError:
    record = get(connection, run_id)
    assert record is not None
    return ConfigError(
        f"Run {run_id!r} has ended ({record.state}, {record.outcome}), and that does not change."
    )


def unfinished(connection: sqlite3.Connection) -> list[RunRecord]:
    """Return the runs that have not ended, oldest first: the order of the queue."""
    rows = connection.execute(f"{WHOLE} WHERE state IN ({_UNFINISHED}) ORDER BY created_at, run_id")
    return [read_row(row) for row in rows]


def counts(connection: sqlite3.Connection) -> dict[str, int]:
    """Return how many runs stand in each state, those in the bin left out."""
    return dict(
        connection.execute(
            "SELECT state, COUNT(*) FROM runs WHERE deleted_at IS NULL GROUP BY state"
        ).fetchall()
    )


def remove(connection: sqlite3.Connection, run_id: str) -> None:
    for table in ("runs", "run_details"):
        connection.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))
