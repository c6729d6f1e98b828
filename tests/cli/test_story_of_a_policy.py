"""Train, cancel, resume, evaluate, play: one policy's life, from the command line."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from mosaic.client.locating import has_daemon
from mosaic.client.starting import stop_daemon
from mosaic.contracts.paths import VarPaths
from mosaic.fastlane.directory import run_directory
from tests.policy_lives import LIVES, LONG, Life

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[VarPaths]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOSAIC_VAR_DIR", str(tmp_path / "var"))
    paths = VarPaths(tmp_path / "var")
    paths.root.mkdir()
    paths.settings.write_text("[trainer]\nport = 0\ncpus = 4\nmemory_mb = 8192\n")
    yield paths
    if has_daemon(paths):
        for run in mosaic("ps"):
            mosaic("cancel", run["run_id"])
        stop_daemon(paths)


def mosaic(*words: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "mosaic.cli", *words, "--json"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"mosaic {' '.join(words)}: {done.stderr}"
    return json.loads(done.stdout)


def checkpoint_steps(run_id: str) -> list[int]:
    root = Path(mosaic("show", run_id)["run_dir"]) / "checkpoints"
    return sorted(int(path.stem.removeprefix("step-")) for path in root.glob("step-*.ckpt"))


def latest_exact(run_id: str) -> int:
    manifest = json.loads((Path(mosaic("show", run_id)["run_dir"]) / "analytics.json").read_text())
    return int(Path(manifest["artifacts"]["checkpoints"]["latest"]).stem.removeprefix("step-"))


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.algo)
def test_the_life_of_a_policy(var: VarPaths, life: Life) -> None:
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in life.settings.items()]
    asked = ("--env-id", life.env_id, "--seed", "1", "--total-timesteps", str(LONG))
    kept = ("--checkpoint-interval", str(life.interval), "--fastlane-video-mode", "off")
    run_id = mosaic("train", life.algo, *asked, *kept, *flags, "--detach")["run_id"]
    wait_until(lambda: checkpoint_steps(run_id), "a checkpoint")
    mosaic("cancel", run_id)
    step = latest_exact(run_id)
    total = str(step + life.interval)
    child = mosaic("resume", run_id, "--from", str(step), "--total-timesteps", total)
    assert child["outcome"] == "succeeded"
    assert child["parent_run_id"] == run_id
    limit = ("--eval-max-episode-steps", "50")
    evaluated = mosaic("eval", child["run_id"], "--seed", "3", "--eval-batch-size", "3", *limit)
    assert evaluated["outcome"] == "succeeded"
    first, second = (mosaic("play", child["run_id"], "--seed", "5") for _ in range(2))
    assert first["algo"] == life.algo
    assert first["episodes"] == second["episodes"], "the same seed is the same episode"


def test_a_repeated_evaluation_that_is_cancelled_leaves_nothing(var: VarPaths) -> None:
    flags = ("--env-id", "CartPole-v1", "--total-timesteps", "2048", "--seed", "1")
    run_id = mosaic("train", "ppo", *flags)["run_id"]
    repeated = ("--eval-repeat", "--eval-batch-size", "2", "--detach")
    evaluation = mosaic("eval", run_id, *repeated)["run_id"]
    summary = var.run(evaluation, "policy_eval").evaluation_summary
    wait_until(lambda: batches_of(summary) > 1, "a second batch")
    assert processes_of(evaluation), "else nothing would be shown by their absence"

    mosaic("cancel", evaluation)

    assert [each for each in processes_of(evaluation) if "mosaic.workers.proxy" not in each] == []
    wait_until(lambda: not processes_of(evaluation), "the end of the proxy, which tells the end")
    assert not run_directory(evaluation).exists(), "its frames are gone from shared memory"
    assert mosaic("show", evaluation)["outcome"] == "cancelled"
    assert mosaic("ps") == []
    assert list(var.run(evaluation, "policy_eval").root.rglob("*.tmp*")) == []


def batches_of(summary: Path) -> int:
    return int(json.loads(summary.read_text())["batch_index"]) if summary.exists() else 0


def wait_until(is_so: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 300
    while not is_so():
        assert time.monotonic() < deadline, f"never came: {what}"
        time.sleep(0.5)


def processes_of(run_id: str) -> list[str]:
    """Return the processes that carry a run's id, the daemon's proxy included."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            if process.environ().get("MOSAIC_RUN_ID") == run_id or run_id in " ".join(words):
                found.append(" ".join(words))
    return found
