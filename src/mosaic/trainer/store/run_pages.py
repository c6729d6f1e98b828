"""Lists of runs, filtered, sorted and cut into pages by SQLite."""

from __future__ import annotations

import base64
import binascii
import json
import sqlite3
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.errors import ConfigError, suggest
from mosaic.contracts.states import RunState, is_terminal
from mosaic.trainer.store.run_record import BRIEF, RunRecord, read_row

DEFAULT_PAGE_SIZE = 100
LARGEST_PAGE = 1000
ORDERS = ("created_at", "name", "algo", "env_id", "state", "step")

_UNFINISHED = tuple(str(state) for state in RunState if not is_terminal(state))
_TEXT_COLUMNS = ("run_id", "name", "algo", "env_id")


@dataclass(frozen=True, slots=True)
class RunQuery:
    """What ListRuns asks for; an empty field does not filter. The bin shows archived runs too."""

    states: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    algo: str = ""
    env_id: str = ""
    worker: str = ""
    text: str = ""
    parent_run_id: str = ""
    only_unfinished: bool = False
    only_deleted: bool = False
    with_archived: bool = False
    order_by: str = "created_at"
    ascending: bool = False
    page_size: int = 0
    page_token: str = ""


@dataclass(frozen=True, slots=True)
class RunPage:
    """`total` counts what the filters let through, over all pages.

    The records come without `config` and `last_lines`, which are long: runs.get has them.
    """

    records: list[RunRecord]
    next_token: str
    total: int


def page(connection: sqlite3.Connection, query: RunQuery) -> RunPage:
    """Return one page, and the token of the next. Runs that come or go meanwhile shift nothing."""
    order, size = _order(query), _size(query)
    where, values = _filters(query)
    (total,) = connection.execute(f"SELECT COUNT(*) FROM runs {where}", values).fetchone()
    direction = "ASC" if query.ascending else "DESC"
    if query.page_token:
        after = ">" if query.ascending else "<"
        where += f" AND ({order}, run_id) {after} (?, ?)"
        values += _read_token(query)
    rows = connection.execute(
        f"{BRIEF} {where} ORDER BY {order} {direction}, run_id {direction} LIMIT ?",
        (*values, size + 1),
    ).fetchall()
    records = [read_row(row) for row in rows[:size]]
    return RunPage(records, _token(query, records[-1]) if len(rows) > size else "", total)


def _order(query: RunQuery) -> str:
    order = query.order_by or ORDERS[0]
    if order not in ORDERS:
        raise ConfigError(
            f"order_by={order!r} is not known: give one of {', '.join(ORDERS)}."
            f"{suggest(order, ORDERS)}"
        )
    return order


def _size(query: RunQuery) -> int:
    if not 0 <= query.page_size <= LARGEST_PAGE:
        raise ConfigError(
            f"page_size={query.page_size} is not allowed: give 1 to {LARGEST_PAGE}, "
            f"or 0 for {DEFAULT_PAGE_SIZE}."
        )
    return query.page_size or DEFAULT_PAGE_SIZE


def _filters(query: RunQuery) -> tuple[str, list[Any]]:
    """Return the WHERE clause and its values."""
    clauses = ["deleted_at IS NOT NULL" if query.only_deleted else "deleted_at IS NULL"]
    values: list[Any] = []
    if not (query.with_archived or query.only_deleted):
        clauses.append("is_archived = 0")
    for column, accepted in (
        ("state", query.states),
        ("outcome", query.outcomes),
        ("state", _UNFINISHED if query.only_unfinished else ()),
    ):
        if accepted:
            clauses.append(f"{column} IN ({', '.join('?' * len(accepted))})")
            values += accepted
    for column in ("algo", "env_id", "worker", "parent_run_id"):
        if wanted := getattr(query, column):
            clauses.append(f"{column} = ?")
            values.append(wanted)
    if query.text:
        # Both sides by SQLite's lower(), which knows the case of ASCII letters alone.
        contains = " OR ".join(f"instr(lower({column}), lower(?))" for column in _TEXT_COLUMNS)
        clauses.append(f"({contains})")
        values += [query.text] * len(_TEXT_COLUMNS)
    return "WHERE " + " AND ".join(clauses), values


def _token(query: RunQuery, last: RunRecord) -> str:
    order = _order(query)
    document = [order, query.ascending, getattr(last, order), last.run_id]
    return base64.urlsafe_b64encode(json.dumps(document).encode()).decode()


def _read_token(query: RunQuery) -> list[Any]:
    """Return the sort key and the id behind which the page begins."""
    try:
        order, ascending, key, run_id = json.loads(base64.urlsafe_b64decode(query.page_token))
    except (ValueError, TypeError, binascii.Error, RecursionError):
        order = None
    else:
        is_ours = isinstance(key, str | int | float) and isinstance(run_id, str)
        if is_ours and (order, ascending) == (_order(query), query.ascending):
            return [key, run_id]
    raise ConfigError(
        f"page_token={query.page_token!r} is not one of this list: give the next_page_token of "
        "its last page, with the same order, or none."
    )
