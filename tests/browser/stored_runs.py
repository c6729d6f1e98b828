"""Runs that are written into the store itself: as many, as old and as hostile as a test wants."""

from __future__ import annotations

import functools
import sqlite3
import time
from pathlib import Path
from typing import Any

from mosaic.contracts.paths import VarPaths
from mosaic.contracts.states import Outcome, RunState
from mosaic.trainer.store import metrics, runs
from mosaic.trainer.store.runs import RunRecord
from mosaic.trainer.store.store import Store

HOSTILE_RUN = "01HOSTILE0000000000000000A"
# Acts if any page takes it for HTML, for a template, or for the end of an attribute.
HOSTILE = (
    "\"'><img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
    "{{constructor.constructor('window.hacked=1')()}}\n```\n<svg onload=window.hacked=1>"
)
HOSTILE_TAG = "charts/<img src=x onerror='window.hacked=1'>"


def plant_hostile_run(var: Path) -> None:
    """Store a failed run whose every text was written by somebody else."""
    paths = VarPaths(var)
    store = Store.open(paths)
    try:
        store.runs.write(functools.partial(runs.insert, record=_record())).result()
        store.telemetry.write(_append_points).result()
    finally:
        store.close()
    logs = paths.run(HOSTILE_RUN).stderr_log
    logs.parent.mkdir(parents=True)
    logs.write_text(f"{HOSTILE}\n\x1b[31mError: {HOSTILE}\x1b[0m\n")
    (paths.run(HOSTILE_RUN).root / "<img src=x onerror='window.hacked=1'>.txt").write_text("x")


def _record() -> RunRecord:
    return RunRecord(
        run_id=HOSTILE_RUN,
        name=HOSTILE,
        state=RunState.TERMINATED,
        outcome=Outcome.FAILED,
        reason=HOSTILE,
        created_at=time.time() - 10.0,
        started_at=time.time() - 9.0,
        ended_at=time.time() - 5.0,
        exit_code=1,
        algo="ppo",
        env_id=HOSTILE,
        worker="cleanrl",
        worker_id=HOSTILE,
        step=50,
        total_timesteps=100,
        last_lines=(HOSTILE,),
        config=_config(),
    )


def _config() -> dict[str, Any]:
    extras = {"notes": HOSTILE, "algo_params": {"exp_name": HOSTILE}}
    worker_config = {
        "run_id": HOSTILE_RUN,
        "algo": "ppo",
        "env_id": HOSTILE,
        "total_timesteps": 100,
        "seed": None,
        "extras": extras,
    }
    worker = {"worker_id": HOSTILE, "module": "cleanrl_worker.cli", "config": worker_config}
    return {"run_name": HOSTILE, "metadata": {"worker": worker}}


def _append_points(connection: sqlite3.Connection) -> None:
    points = [
        (tag, step, 1.0, 1.0, 1.0, 1)
        for tag in (HOSTILE_TAG, "charts/episodic_return")
        for step in (10, 20)
    ]
    metrics.append(connection, HOSTILE_RUN, points, 100)
