"""Training through the real algorithm process, and reading what it left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import HASTY_JAX

EVALUATED = "eval/episodic_return"


@dataclass(frozen=True)
class Launched:
    """A training that has ended, in a folder of its own."""

    algo: str
    home: Path

    @property
    def policy(self) -> Path:
        (model,) = self.home.glob("runs/*/*.cleanrl_model")
        return model

    def points(self, tag: str) -> list[float]:
        """Return what was logged under a tag, in its order."""
        (path,) = self.home.glob("runs/*/metrics.jsonl")
        return _points(path, tag)

    def evaluate(self, episodes: int) -> float:
        """Return (and print) the mean of so many greedy episodes."""
        where = [f"--policy-path={self.policy}", "--tensorboard-dir=None"]
        batch = f"--eval-batch-size={episodes}"
        run_module("cleanrl_worker.evaluator", self.algo, *where, batch, cwd=self.home)
        (path,) = self.home.glob("evals/*/metrics.jsonl")
        mean = _points(path, "eval/avg_return")[-1]
        print(f"{self.algo}: {mean:.3f} in {episodes} episodes")
        return mean


def launch(algo: str, directory: Path, *flags: str) -> Launched:
    """Train, and print the mean of the ten greedy episodes that follow."""
    home = directory / f"{algo}-{time.time_ns()}"
    home.mkdir()
    started = time.monotonic()
    run_module("cleanrl_worker.launcher", algo, *flags, cwd=home)
    seconds = time.monotonic() - started
    launched = Launched(algo, home)
    returns = launched.points(EVALUATED)
    assert len(returns) == 10, returns
    print(f"{algo} {' '.join(flags)}: {sum(returns) / 10:.3f} in {seconds:.0f} s")
    return launched


def greedy_return(algo: str, directory: Path, *flags: str, episodes: int | None = None) -> float:
    """Train, and return the mean of the ten greedy episodes that follow, or of more."""
    launched = launch(algo, directory, *flags)
    return sum(launched.points(EVALUATED)) / 10 if episodes is None else launched.evaluate(episodes)


def spread(returns: list[float]) -> float:
    return max(returns) - min(returns)


def run_module(module: str, *arguments: str, cwd: Path | None = None) -> str:
    """Run a module in a process of its own until it ends well, and return what it printed."""
    # Compiled with care: here programs run for minutes.
    variables = {name: value for name, value in os.environ.items() if name != HASTY_JAX}
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def _points(path: Path, tag: str) -> list[float]:
    rows = (json.loads(line)["values"] for line in path.read_text().splitlines())
    return [float(values[tag]) for values in rows if tag in values]
