"""Runs and points for the tests of the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from mosaic.contracts.states import Outcome, RunState
from mosaic.trainer.store import metrics, runs
from mosaic.trainer.store.database import Database
from mosaic.trainer.store.metrics import Point
from mosaic.trainer.store.runs import RunRecord

ENDED: dict[str, Any] = {"state": RunState.TERMINATED, "outcome": Outcome.SUCCEEDED}


def make_record(run_id: str, **fields: Any) -> RunRecord:
    values: dict[str, Any] = {
        "name": f"run {run_id}",
        "state": RunState.INIT,
        "created_at": 1_700_000_000.5,
        "algo": "ppo",
        "env_id": "CartPole-v1",
        "worker": "cleanrl",
        "config": {"run_name": run_id},
    }
    return RunRecord(run_id, **(values | fields))


def insert(database: Database, *records: RunRecord) -> None:
    def work(connection: sqlite3.Connection) -> None:
        for record in records:
            runs.insert(connection, record)

    database.write(work).result()


def single(tag: str, step: int, value: float) -> Point:
    """Return a point that its worker did not merge."""
    return (tag, step, value, value, value, 1)


def append(
    telemetry: Database, run_id: str, points: Sequence[Point], next_offset: int | None = None
) -> None:
    """Store points, the next line of the spool unless its end is given."""

    def work(connection: sqlite3.Connection) -> None:
        end = metrics.offset(connection, run_id) + 1 if next_offset is None else next_offset
        metrics.append(connection, run_id, points, end)

    telemetry.write(work).result()
