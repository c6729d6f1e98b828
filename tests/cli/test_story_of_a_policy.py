"""Train, cancel, resume, evaluate, play: one policy's life, from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.client.locating import has_daemon
from mosaic.client.starting import stop_daemon
from mosaic.contracts.paths import VarPaths

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

LONG = 50_000_000
# Enough to have passed a checkpoint; the rest is cancelled, and the resume ends soon after.
STORIES = [
    ("ppo", "CartPole-v1", 2_000, ("--num-envs=2",)),
    ("dqn", "CartPole-v1", 2_000, ("--learning-starts=500",)),
    ("sac_continuous_action", "Pendulum-v1", 1_000, ("--learning-starts=200",)),
    ("ppo_atari_lstm", "BreakoutNoFrameskip-v4", 500, ("--num-envs=1", "--num-minibatches=1")),
    ("dqn_jax", "CartPole-v1", 2_000, ("--learning-starts=500",)),
]


@pytest.fixture
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[VarPaths]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOSAIC_VAR_DIR", str(tmp_path / "var"))
    paths = VarPaths(tmp_path / "var")
    paths.root.mkdir()
    paths.settings.write_text("[trainer]\nport = 0\ncpus = 4\nmemory_mb = 8192\n")
    yield paths
    if has_daemon(paths):
        mosaic("cancel", *[run["run_id"] for run in mosaic("ps")])
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


@pytest.mark.parametrize(("algo", "env_id", "interval", "flags"), STORIES, ids=lambda each: each)
def test_the_life_of_a_policy(
    var: VarPaths, algo: str, env_id: str, interval: int, flags: tuple[str, ...]
) -> None:
    if algo not in {each["name"] for each in mosaic("algos")}:
        pytest.skip(f"{algo} is not in this version")
    asked = ("--env-id", env_id, "--seed", "1", "--total-timesteps", str(LONG))
    kept = ("--checkpoint-interval", str(interval), "--fastlane-video-mode", "off")
    run_id = mosaic("train", algo, *asked, *kept, *flags, "--detach")["run_id"]
    deadline = time.monotonic() + 300
    while not checkpoint_steps(run_id):
        assert time.monotonic() < deadline, "no checkpoint"
        time.sleep(0.5)
    mosaic("cancel", run_id)
    step = checkpoint_steps(run_id)[0]
    child = mosaic("resume", run_id, "--from", str(step), "--total-timesteps", str(step + interval))
    assert child["outcome"] == "succeeded"
    assert child["parent_run_id"] == run_id
    limit = ("--eval-max-episode-steps", "50")
    evaluated = mosaic("eval", child["run_id"], "--seed", "3", "--eval-batch-size", "3", *limit)
    assert evaluated["outcome"] == "succeeded"
    first, second = (mosaic("play", child["run_id"], "--seed", "5") for _ in range(2))
    assert first["algo"] == algo
    assert first["episodes"] == second["episodes"], "the same seed is the same episode"
