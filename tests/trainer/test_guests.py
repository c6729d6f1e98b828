"""A worker that somebody starts by hand with --grpc appears among the runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from mosaic.proto import trainer_pb2 as pb
from tests.trainer.daemons import Daemon

CONFIG = {
    "run_id": "by-hand",
    "algo": "ppo",
    "env_id": "CartPole-v1",
    "total_timesteps": 4096,
    "seed": 1,
    "extras": {"save_model": False},
}


def start(daemon: Daemon, directory: Path, **changes: object) -> subprocess.Popen[bytes]:
    path = directory / "config.json"
    path.write_text(json.dumps({**CONFIG, **changes}))
    return subprocess.Popen(
        [sys.executable, "-m", "cleanrl_worker.cli", "--config", str(path), "--grpc"],
        env={**os.environ, "MOSAIC_VAR_DIR": str(daemon.paths.root)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def test_a_worker_started_by_hand_is_followed_to_its_end(daemon: Daemon, tmp_path: Path) -> None:
    worker = start(daemon, tmp_path)
    _, error = worker.communicate(timeout=60)
    assert worker.returncode == 0, error
    run = daemon.wait_for("by-hand", "TERMINATED")
    assert (run.outcome, run.algo, run.env_id, run.seed) == ("succeeded", "ppo", "CartPole-v1", 1)
    assert (run.total_timesteps, run.step) == (4096, 4096)
    events = [json.loads(line)["event"] for line in daemon.details("by-hand").event_lines]
    assert events.count("run_started") == events.count("run_completed") == 1


def test_it_can_be_cancelled_from_there(daemon: Daemon, tmp_path: Path) -> None:
    worker = start(daemon, tmp_path, total_timesteps=10_000_000)
    daemon.wait(lambda: _is_listed(daemon), "the run")
    daemon.wait_for("by-hand", "EXECUTING", timeout_s=60)
    daemon.call("CancelRun", pb.RunRequest(run_id="by-hand"))
    _, error = worker.communicate(timeout=60)
    assert worker.returncode == 143, error
    assert daemon.wait_for("by-hand", "TERMINATED").outcome == "cancelled"


def _is_listed(daemon: Daemon) -> bool:
    return bool(daemon.call("ListRuns", pb.ListRunsRequest()).runs)
