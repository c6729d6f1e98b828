"""The worker as its callers start it: a process of its own in an empty directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SOURCE = str(Path(__file__).parents[2] / "src")

CONFIG: dict[str, Any] = {
    "run_id": "01J00000000000000000000001",
    "algo": "ppo",
    "env_id": "CartPole-v1",
    "total_timesteps": 2048,
    "seed": 1,
    "extras": {"algo_params": {"num_envs": 4, "num_steps": 64}},
}

RunWorker = Callable[..., "subprocess.CompletedProcess[str]"]


def start_worker(
    directory: Path, *flags: str, config: Any = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `python -m cleanrl_worker.cli` in a directory, on a config if one is given."""
    if config is not None:
        text = config if isinstance(config, str) else json.dumps(config)
        (directory / "cfg.json").write_text(text)
        flags = ("--config", "cfg.json", *flags)
    variables = {**os.environ, "PYTHONPATH": SOURCE, **environment}
    if "MOSAIC_VAR_DIR" not in environment:
        variables.pop("MOSAIC_VAR_DIR", None)
    return subprocess.run(
        [sys.executable, "-m", "cleanrl_worker.cli", *flags],
        cwd=directory,
        env=variables,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.fixture
def run_worker(tmp_path: Path) -> RunWorker:
    def run(*flags: str, config: Any = None, **environment: str) -> Any:
        return start_worker(tmp_path, *flags, config=config, **environment)

    return run
