"""Insert many rows in few statements.

Python's sqlite3 gives the interpreter lock away once a step, which with executemany is once a row.
Storing 4,000 points took a fifth less processor time with whole blocks.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Sequence
from typing import Any

# Rows in one statement. SQLite allows 32,766 values at least.
_SIZES = (1024, 64, 8, 1)


def insert_many(
    connection: sqlite3.Connection, statement: str, rows: Sequence[tuple[Any, ...]]
) -> None:
    """Run "INSERT INTO ... VALUES" with these rows; a conflict clause cannot follow."""
    done = 0
    for size in _SIZES:
        while len(rows) - done >= size:
            part = rows[done : done + size]
            marks = f"({', '.join('?' * len(part[0]))})"
            values = list(itertools.chain.from_iterable(part))
            connection.execute(f"{statement} {', '.join([marks] * size)}", values)
            done += size
