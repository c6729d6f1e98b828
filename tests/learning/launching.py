"""Training through the real algorithm process, and reading what it left."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path


def greedy_return(algo: str, directory: Path, *flags: str) -> float:
    """Train, and return (and print) the mean of the ten greedy episodes that follow."""
    home = directory / f"{algo}-{time.time_ns()}"
    home.mkdir()
    started = time.monotonic()
    command = [sys.executable, "-m", "cleanrl_worker.launcher", algo, *flags]
    subprocess.run(command, cwd=home, check=True, capture_output=True)
    seconds = time.monotonic() - started
    (path,) = home.glob("runs/*/metrics.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    key = "eval/episodic_return"
    returns = [row["values"][key] for row in rows if key in row["values"]]
    assert len(returns) == 10, returns
    mean = sum(returns) / len(returns)
    print(f"{algo} {' '.join(flags)}: {mean:.3f} in {seconds:.0f} s")
    return mean
