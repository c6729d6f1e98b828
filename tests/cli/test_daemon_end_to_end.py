"""Real runs of PPO and DQN under a real daemon, as somebody at a terminal has them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from mosaic.cli.acting import wait_until
from mosaic.cli.run_view import has_ended
from mosaic.client.connecting import connect
from mosaic.client.locating import has_daemon
from mosaic.client.starting import stop_daemon
from mosaic.contracts.paths import VarPaths

Mosaic = Callable[..., "subprocess.CompletedProcess[str]"]

# Each starts the algorithm's process several times.
pytestmark = pytest.mark.timeout(300)

CARTPOLE = ("--env-id", "CartPole-v1", "--seed", "1")


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[VarPaths]:
    """A data directory; the first command starts its daemon."""
    monkeypatch.chdir(tmp_path)
    for name in ("MOSAIC_VAR_DIR", "MOSAIC_GRPC_TARGET"):
        monkeypatch.delenv(name, raising=False)
    found = VarPaths(tmp_path / "var")
    found.root.mkdir()
    found.settings.write_text("[trainer]\nport = 0\ncpus = 4\nmemory_mb = 8192\n")
    yield found
    with connect(found) as client:  # a test that failed leaves nothing that trains
        for run in client.all_runs(only_unfinished=True):
            wait_until(client, client.cancel(run.run_id), has_ended, timeout_s=30)
    stop_daemon(found)


@pytest.fixture
def mosaic(paths: VarPaths) -> Mosaic:
    def call(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "mosaic.cli", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)

    return call


def ask(mosaic: Mosaic, *words: str) -> Any:
    done = mosaic(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def wait_for_step(mosaic: Mosaic, run_id: str, step: int) -> None:
    deadline = time.monotonic() + 60
    while ask(mosaic, "show", run_id)["step"] < step:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def processes_of(run_id: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("MOSAIC_RUN_ID") == run_id:
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_ppo_is_trained_resumed_evaluated_removed_and_brought_back(
    mosaic: Mosaic, paths: VarPaths
) -> None:
    done = mosaic("train", "ppo", *CARTPOLE, "--total-timesteps", "2048")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "ppo on CartPole-v1  2,048 steps"
    assert any(line.startswith("  evaluation ") for line in lines)
    [run] = ask(mosaic, "ps", "--all")
    run_id = run["run_id"]
    assert f"  run          var/trainer/runs/{run_id}" in lines
    assert (run["state"], run["outcome"], run["step"]) == ("TERMINATED", "succeeded", 2048)
    assert mosaic("ps").stdout.startswith("No run is unfinished.")

    again = mosaic("resume", run_id)
    assert again.returncode == 2
    assert "is complete" in again.stderr
    longer = ask(mosaic, "resume", run_id[:24], "--total-timesteps", "4096")
    assert longer["parent_run_id"] == run_id
    assert (longer["status"], longer["step"]) == ("completed", 4096)

    played = ask(mosaic, "eval", run_id, "--eval-batch-size", "3", "--seed", "5")
    assert (played["mode"], played["status"]) == ("policy_eval", "completed")
    summary = json.loads((Path(played["run_dir"]) / "eval_summary.json").read_text())
    assert summary["episodes"] == 3

    files = paths.run(run_id).root
    assert ask(mosaic, "rm", run_id)["deleted_at"] is not None
    assert not files.exists()
    assert [each["run_id"] for each in ask(mosaic, "ps", "--deleted")] == [run_id]
    assert ask(mosaic, "restore", run_id)["deleted_at"] is None
    assert files.is_dir()
    assert ask(mosaic, "rm", run_id, "--purge")["run_id"] == run_id
    assert not files.exists()
    assert mosaic("show", run_id).returncode == 2


def test_dqn_is_paused_continued_and_cancelled_with_all_its_processes(mosaic: Mosaic) -> None:
    words = ("train", "dqn", *CARTPOLE, "--total-timesteps", "10000000", "--detach")
    run_id = ask(mosaic, *words)["run_id"]
    wait_for_step(mosaic, run_id, 100)
    assert ask(mosaic, "pause", run_id)["state"] == "PAUSED"
    stood_at = ask(mosaic, "show", run_id)["step"]
    time.sleep(1.0)
    assert ask(mosaic, "show", run_id)["step"] <= stood_at + 5_000  # what was on its way
    assert {each.status() for each in processes_of(run_id)} == {psutil.STATUS_STOPPED}
    assert ask(mosaic, "unpause", run_id)["state"] == "EXECUTING"
    wait_for_step(mosaic, run_id, stood_at + 6_000)
    ended = ask(mosaic, "cancel", run_id)
    assert (ended["state"], ended["outcome"]) == ("TERMINATED", "cancelled")
    assert processes_of(run_id) == []
    again = mosaic("cancel", run_id)
    assert again.returncode == 2
    assert "has ended already" in again.stderr


def test_a_follower_outlives_the_daemon(mosaic: Mosaic, paths: VarPaths) -> None:
    words = ("train", "ppo", *CARTPOLE, "--total-timesteps", "30000", "--json")
    command = [sys.executable, "-m", "mosaic.cli", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as follower:
        deadline = time.monotonic() + 60
        while not (runs := ask(mosaic, "ps")) or not runs[0]["step"]:
            assert time.monotonic() < deadline
        os.kill(json.loads(paths.daemon_info.read_text())["pid"], signal.SIGKILL)
        out, _ = follower.communicate(timeout=90)
    assert follower.returncode == 0
    told = json.loads(out)
    assert (told["outcome"], told["step"]) == ("succeeded", 29_696)
    assert has_daemon(paths)  # the follower started it again
