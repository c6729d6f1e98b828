"""The daemon and the proxies die at any moment: no run is lost, no event is lost or doubled."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import time
from pathlib import Path

import pytest

from mosaic.trainer.executors.local import LocalExecutor
from tests.trainer.daemons import SITE, Daemon, running

RETURN = "charts/episodic_return"
RUNS = 3
RATE = 200.0


@pytest.fixture
def ticker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SITE))
    before = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(SITE), before])))


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("victim", "kills"),
    [
        ("daemon", 20),
        ("proxy", 20),
        pytest.param("daemon", 100, marks=pytest.mark.slow),
        pytest.param("proxy", 100, marks=pytest.mark.slow),
        pytest.param("both", 100, marks=pytest.mark.slow),
    ],
)
def test_runs_survive_kills(ticker: None, tmp_path: Path, victim: str, kills: int) -> None:
    chooser = random.Random(f"{victim} {kills}")
    steps = int(RATE * kills * 1.5)
    with running(tmp_path / "var") as daemon:
        run_ids = [daemon.submit(steps=steps, rate=RATE) for _ in range(RUNS)]
        for _ in range(kills):
            time.sleep(chooser.uniform(0.0, 0.8))
            if victim in ("proxy", "both"):
                _kill_proxy(daemon, chooser.choice(run_ids))
            if victim in ("daemon", "both"):
                daemon.kill()
                time.sleep(chooser.uniform(0.0, 0.3))
                daemon.start()
        for run_id in run_ids:
            run = daemon.wait_for(run_id, "TERMINATED", "FAULTED", timeout_s=120)
            assert (run.state, run.outcome, run.step) == ("TERMINATED", "succeeded", steps)
            _check_nothing_lost_or_doubled(daemon, run_id, steps)
    for database in (daemon.paths.trainer_database, daemon.paths.telemetry_database):
        with sqlite3.connect(database) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _kill_proxy(daemon: Daemon, run_id: str) -> None:
    state = LocalExecutor(daemon.paths).worker_state(run_id)
    if state is not None and state.proxy.is_alive():
        os.kill(state.proxy.pid, signal.SIGKILL)


def _check_nothing_lost_or_doubled(daemon: Daemon, run_id: str, steps: int) -> None:
    events = [json.loads(line) for line in daemon.details(run_id).event_lines]
    saved = [event["payload"]["step"] for event in events if event["event"] == "checkpoint_saved"]
    assert saved == list(range(10, steps + 1, 10))
    assert [event["event"] for event in (events[0], events[-1])] == ["run_started", "run_completed"]
    assert sum(event["event"] == "run_started" for event in events) == 1  # never from step 0 again
    with sqlite3.connect(daemon.paths.telemetry_database) as connection:
        rows = connection.execute(
            "SELECT step FROM points JOIN series USING (series_id) WHERE run_id = ? AND tag = ? "
            "ORDER BY position",
            (run_id, RETURN),
        )
        assert [step for (step,) in rows] == list(range(1, steps + 1))
