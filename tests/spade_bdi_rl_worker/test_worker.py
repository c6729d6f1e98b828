"""The worker as the daemon starts it: agents over XMPP, checkpoints, resume, evaluation."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from mosaic.contracts.schema import load_schema
from spade_bdi_rl_worker import SCHEMA_PATH, get_worker_metadata
from spade_bdi_rl_worker.describe import describe
from tests.solo_workers import Bench

EXTRAS: dict[str, Any] = {
    "checkpoint_interval": 2_000,
    "keep_checkpoints": 50,
    "algo_params": {"round_episodes": 50},
}
FROZEN_LAKE: dict[str, Any] = {"algo": "bdi_q_learning", "env_id": "FrozenLake-v1", "seed": 1}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench("spade_bdi_rl_worker.cli", tmp_path)


def state_of(bench: Bench, run_id: str) -> dict[str, Any]:
    """Return what the last checkpoint of a run holds."""
    last = bench.run_dir(run_id) / bench.manifest(run_id)["artifacts"]["checkpoints"]["latest"]
    return dict(json.loads((last / "checkpoint.json").read_text())["state"])


def test_the_schema_is_that_of_the_code() -> None:
    assert json.loads(SCHEMA_PATH.read_text()) == describe()
    assert "bdi_q_learning" in load_schema(get_worker_metadata().schema).algorithms


def test_a_run_tells_what_it_does_and_saves(bench: Bench) -> None:
    ran = bench.run("whole", **FROZEN_LAKE, total_timesteps=8_000, extras=EXTRAS)
    assert ran.code == 0, ran.stderr
    assert ran.lines[0]["event"] == "run_started"
    assert ran.events("run_completed")[0]["manifest"]["status"] == "completed"
    minded = [step for step in ran.told("step") if step["info"]]
    assert minded, "the episodes by plans"
    assert any(belief.startswith("at(") for belief in minded[0]["info"]["beliefs"])
    assert minded[0]["info"]["intentions"][-1] == "!reach"
    assert {episode["metadata"]["driven_by"] for episode in ran.told("episode")} == {
        "plans",
        "learning",
    }


@pytest.mark.slow
def test_a_resumed_run_comes_to_the_same_table(bench: Bench) -> None:
    ran = bench.run("whole", **FROZEN_LAKE, total_timesteps=8_000, extras=EXTRAS)
    assert ran.code == 0, ran.stderr
    saved = sorted(
        (bench.run_dir("whole") / "checkpoints").glob("step-*.ckpt"),
        key=lambda path: int(path.stem.removeprefix("step-")),
    )
    again = bench.run(
        "resumed",
        **{**FROZEN_LAKE, "seed": None},
        total_timesteps=8_000,
        extras={**EXTRAS, "mode": "resume_training", "checkpoint_path": str(saved[0])},
    )
    assert again.code == 0, again.stderr
    assert state_of(bench, "resumed") == state_of(bench, "whole")
    lineage = bench.manifest("resumed")["lineage"]
    assert (lineage["parent_run_id"], lineage["exact"]) == ("whole", True)
    evaluated = bench.run(
        "evaluated",
        **FROZEN_LAKE,
        extras={"mode": "policy_eval", "policy_path": str(saved[-1]), "eval_batch_size": 5},
    )
    assert evaluated.code == 0, evaluated.stderr
    summary = json.loads((bench.run_dir("evaluated", "evals") / "eval_summary.json").read_text())
    assert summary["episodes"] == 5
    told = [episode["total_reward"] for episode in evaluated.told("episode")]
    assert sum(told) / 5 == summary["avg_return"]


@pytest.fixture
def training(bench: Bench) -> Iterator[subprocess.Popen[bytes]]:
    path = bench.config("long", **FROZEN_LAKE, total_timesteps=50_000_000)
    process = subprocess.Popen(
        bench.command(path), env=bench.variables, stdout=subprocess.DEVNULL, cwd=bench.root
    )
    yield process
    process.kill()
    process.wait()


def test_it_listens_on_loopback_alone_and_stops_when_told(
    bench: Bench, training: subprocess.Popen[bytes]
) -> None:
    deadline = time.monotonic() + 60
    while not listening(training.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1.0)
    found = listening(training.pid)
    assert {address.ip for address in found} == {"127.0.0.1"}
    assert len(found) == 2, "clients and servers; no web server"
    while not (bench.run_dir("long") / "metrics.jsonl").exists():
        time.sleep(0.1)
    os.kill(training.pid, signal.SIGTERM)
    assert training.wait(20) == 143
    assert bench.manifest("long")["status"] == "cancelled"
    assert list(bench.root.glob("pyjabber*")) == [], "the server leaves nothing behind"


def test_nothing_outlives_a_worker_that_is_killed(
    bench: Bench, training: subprocess.Popen[bytes]
) -> None:
    while not (bench.run_dir("long") / "metrics.jsonl").exists() or not listening(training.pid):
        time.sleep(0.1)
    time.sleep(2.0)  # the agents log in
    assert psutil.Process(training.pid).children(recursive=True) == []
    training.kill()
    training.wait()


def listening(pid: int) -> list[Any]:
    connections = psutil.Process(pid).net_connections()
    return [each.laddr for each in connections if each.status == psutil.CONN_LISTEN]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"env_id": "CartPole-v1"}, "env_id='CartPole-v1' has no transition table"),
        ({"algo": "bdi_q_lerning"}, "Did you mean 'bdi_q_learning'"),
        ({"extras": {"gama": 0.9}}, "has no parameter 'gama'"),
        ({"extras": {"checkpoint_interval": 10}}, "checkpoint_interval=10 is too short"),
        ({"extras": {"mode": "policy_eval"}}, "extras.policy_path is missing"),
    ],
)
def test_a_wrong_config_is_one_line(bench: Bench, fields: dict[str, Any], line: str) -> None:
    ran = bench.run("wrong", "--dry-run", **{**FROZEN_LAKE, "total_timesteps": 1_000, **fields})
    assert (ran.code, ran.lines) == (2, [])
    assert line in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not (bench.root / "var").exists()
