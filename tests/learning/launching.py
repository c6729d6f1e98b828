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
    home = directory / f"{algo}-{time.time_ns()}"
    home.mkdir()
    started = time.monotonic()
    command = [sys.executable, "-m", "cleanrl_worker.launcher", algo, *flags]
    # Compiled with care: here programs run for minutes.
    variables = {name: value for name, value in os.environ.items() if name != HASTY_JAX}
    subprocess.run(command, cwd=home, env=variables, check=True, capture_output=True)
    seconds = time.monotonic() - started
    (path,) = home.glob("runs/*/metrics.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    key = "eval/episodic_return"
    returns = [row["values"][key] for row in rows if key in row["values"]]
    assert len(returns) == 10, returns
    mean = sum(returns) / len(returns)
    print(f"{algo} {' '.join(flags)}: {mean:.3f} in {seconds:.0f} s")
    return mean if episodes is None else _evaluate(algo, home, episodes)


def spread(returns: list[float]) -> float:
    return max(returns) - min(returns)


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
