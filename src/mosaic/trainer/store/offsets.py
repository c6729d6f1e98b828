"""How far into the spool of each run a database has got.

It is set in the transaction of the rows that it stands for: after a crash both are there or neither
is, and what the spool gives again from there on is stored once.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OffsetTable:
    table: str

    def get(self, connection: sqlite3.Connection, run_id: str) -> int:
        row = connection.execute(
            f"SELECT next_offset FROM {self.table} WHERE run_id = ?", (run_id,)
        ).fetchone()
        return 0 if row is None else int(row[0])

    def advance(self, connection: sqlite3.Connection, run_id: str, next_offset: int) -> bool:
        """Set the offset; False, and nothing done, where it lies there or beyond already."""
        changed = connection.execute(
            f"INSERT INTO {self.table} (run_id, next_offset) VALUES (?, ?) "
            "ON CONFLICT DO UPDATE SET next_offset = excluded.next_offset "
            "WHERE excluded.next_offset > next_offset",
            (run_id, next_offset),
        ).rowcount
        return changed > 0

    def remove(self, connection: sqlite3.Connection, run_id: str) -> None:
        connection.execute(f"DELETE FROM {self.table} WHERE run_id = ?", (run_id,))
