"""Training through the real algorithm process, and reading what it left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.conftest import HASTY_JAX


def greedy_return(algo: str, directory: Path, *flags: str, episodes: int | None = None) -> float:
    """Train, and return (and print) the mean of the ten greedy episodes that follow, or of more."""
    home = _home(directory, algo)
    seconds = _train(algo, home, flags)
    returns = _logged(home, "eval/episodic_return")
    assert len(returns) == 10, returns
    mean = _mean(returns)
    print(f"{algo} {' '.join(flags)}: {mean:.3f} in {seconds:.0f} s")
    return mean if episodes is None else _evaluate(algo, home, episodes)


def training_return(algo: str, directory: Path, *flags: str, episodes: int) -> float:
    """Train, and return (and print) the mean of the last episodes that it was trained on."""
    home = _home(directory, algo)
    seconds = _train(algo, home, flags)
    returns = _logged(home, "charts/episodic_return")
    assert len(returns) >= episodes, returns
    mean = _mean(returns[-episodes:])
    print(f"{algo} {' '.join(flags)}: {mean:.3f} in {seconds:.0f} s")
    return mean


def spread(returns: list[float]) -> float:
    return max(returns) - min(returns)


def _home(directory: Path, algo: str) -> Path:
    home = directory / f"{algo}-{time.time_ns()}"
    home.mkdir()
    return home


def _train(algo: str, home: Path, flags: tuple[str, ...]) -> float:
    """Return how many seconds it took."""
    started = time.monotonic()
    command = [sys.executable, "-m", "cleanrl_worker.launcher", algo, *flags]
    # Compiled with care: here programs run for minutes.
    variables = {name: value for name, value in os.environ.items() if name != HASTY_JAX}
    subprocess.run(command, cwd=home, env=variables, check=True, capture_output=True)
    return time.monotonic() - started


def _logged(home: Path, tag: str) -> list[float]:
    (path,) = home.glob("runs/*/metrics.jsonl")
    rows = [json.loads(line)["values"] for line in path.read_text().splitlines()]
    return [values[tag] for values in rows if tag in values]


def _mean(returns: list[float]) -> float:
    return sum(returns) / len(returns)


def _evaluate(algo: str, home: Path, episodes: int) -> float:
    """Return (and print) the mean of more greedy episodes, where ten say too little."""
    (model,) = home.glob("runs/*/*.cleanrl_model")
    flags = [f"--policy-path={model}", f"--eval-batch-size={episodes}", "--tensorboard-dir=None"]
    command = [sys.executable, "-m", "cleanrl_worker.evaluator", algo, *flags]
    subprocess.run(command, cwd=home, check=True, capture_output=True)
    (path,) = home.glob("evals/*/metrics.jsonl")
    values = json.loads(path.read_text().splitlines()[-1])["values"]
    mean: float = values["eval/avg_return"]
    print(f"{algo}: {mean:.3f} in {episodes} episodes")
    return mean
