"""What the pictures show: runs of every kind, made by training them in a directory of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_gui.run_processes import processes_by_run

# Three at a time, and one more for whoever plays: the runs under way take little of a core each.
SETTINGS = "[trainer]\nport = 0\ncpus = 4\nmemory_mb = 8192\n"
STUDY = "ppo-cartpole"
PPO = ["train", "ppo", "--env-id", "CartPole-v1", "--tuned", "--detach", "--json"]
SHORT = ["--total-timesteps", "25600"]
PATIENCE_S = 900.0


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs that the pictures are of."""

    tuned: tuple[str, ...]  # three seeds; the first is tracked with W&B and was filmed
    slower: tuple[str, ...]  # the same seeds with another learning rate
    evaluation: str
    failed: str
    frozen: str  # paused, with what a watchdog found
    going: str
    agent: str  # a BDI agent, whose steps are recorded
    trial: str


def mosaic(var: Path, *words: str) -> str:
    """Run a command of ours in the directory of the pictures, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "mosaic.cli", *words],
        env={**os.environ, "MOSAIC_VAR_DIR": str(var)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def make_runs(var: Path) -> Runs:
    """Train all of them, and leave two under way."""

    def train(*words: str) -> str:
        return str(json.loads(mosaic(var, *PPO, *words))["run_id"])

    tracked = ("--track-wandb", "--wandb-mode", "offline", "--wandb-project-name", "first-look")
    about = ("--notes", "A first look at PPO: three seeds, tuned values.")
    tuned = [
        train(*SHORT, *about, "--seed", "1", "--capture-video", *tracked),
        *(train(*SHORT, *about, "--seed", seed) for seed in ("2", "3")),
    ]
    rate = ("--learning-rate", "0.0001", "--notes", "The same with a tenth of the learning rate.")
    slower = [train(*SHORT, *rate, "--seed", seed) for seed in ("1", "2", "3")]
    for run_id in (*tuned, *slower):
        wait_for_end(var, run_id)
    told = mosaic(var, "eval", tuned[0], "--eval-capture-video", "--detach", "--json")
    evaluation = str(json.loads(told)["run_id"])
    trial = _sweep(var)
    failed = _fail(var, train("--total-timesteps", "10000000", "--seed", "4"))
    frozen = _freeze(var, train("--total-timesteps", "1000000", "--learning-rate", "1.0"))
    wait_for_end(var, evaluation)
    agent = mosaic(
        *(var, "train", "bdi_q_learning", "--env-id", "FrozenLake-v1", "--tuned", "--seed", "1"),
        *("--total-timesteps", "500000000", "--detach", "--json"),
    )
    return Runs(
        tuned=tuple(tuned),
        slower=tuple(slower),
        evaluation=evaluation,
        failed=failed,
        frozen=frozen,
        going=train("--seed", "5", "--total-timesteps", "20000000"),
        agent=str(json.loads(agent)["run_id"]),
        trial=trial,
    )


def stop_runs(var: Path, runs: Runs) -> None:
    for run_id in (runs.going, runs.agent, runs.frozen):
        mosaic(var, "cancel", run_id)


def _sweep(var: Path) -> str:
    """Search a little, and return the run of a trial."""
    mosaic(
        *(var, "sweep", "ppo", "--env-id", "CartPole-v1", "--study", STUDY, "--trials", "10"),
        *("--total-timesteps", "8192", "--parallel", "3", "--seeds", "1", "--sampler-seed", "1"),
    )
    known = json.loads(mosaic(var, "ps", "--all", "--json"))
    return next(str(run["run_id"]) for run in known if STUDY in run["name"])


def _fail(var: Path, run_id: str) -> str:
    """End it as a machine does that has no memory left."""
    wait_until(lambda: _show(var, run_id)["step"] > 10_000, "a run that trains")
    busiest = max(processes_by_run()[run_id], key=lambda process: process.cpu_s)
    os.kill(busiest.pid, signal.SIGKILL)
    wait_for_end(var, run_id)
    return run_id


def _freeze(var: Path, run_id: str) -> str:
    """Let a learning rate that is far too large spoil the policy, and pause the run then."""
    wait_until(lambda: _show(var, run_id)["step"] > 30_000, "episodes that stay the same")
    mosaic(var, "pause", run_id)
    return run_id


def wait_for_end(var: Path, run_id: str) -> None:
    wait_until(lambda: _show(var, run_id)["outcome"], f"the end of {run_id}")


def wait_until(is_so: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {PATIENCE_S:g} s: {what}")
        time.sleep(1.0)


def _show(var: Path, run_id: str) -> dict[str, Any]:
    return dict(json.loads(mosaic(var, "show", run_id, "--json")))
