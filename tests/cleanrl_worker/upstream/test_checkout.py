"""Scripts of a real CleanRL checkout, in a real bundle: `make learn CLEANRL_HOME=...`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
HOME = os.environ.get("CLEANRL_HOME")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(HOME is None, reason="CLEANRL_HOME names no checkout"),
]


def mosaic(*words: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "mosaic.cli", *words], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def allowed(var_dir: Path) -> Path:
    settings = f'[trainer]\nport = 0\ncpus = 1\n[allow]\ncheckouts = ["{HOME}"]\n'
    (var_dir / "mosaic.toml").write_text(settings)
    mosaic("bundle", "create", "cleanrl", "--cleanrl", "--json")
    return var_dir


def values_of(run_dir: str) -> list[tuple[int, dict[str, float]]]:
    lines = (Path(run_dir) / "metrics.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return [(row["step"], row["values"]) for row in rows if "charts/SPS" not in row["values"]]


def test_scripts_run_through_the_daemon_and_look_the_same_watched_or_not(allowed: Path) -> None:
    script = [sys.executable, str(ROOT / "benchmarks/cleanrl_scripts.py"), "--cleanrl-home", HOME]
    done = subprocess.run(script, text=True, cwd=allowed)
    mosaic("daemon", "stop", "--json")
    assert done.returncode == 0

    runs = []
    for mode in ("off", "grid"):
        words = ["--env-id", "CartPole-v1", "--total-timesteps", "4096", "--seed", "3"]
        flags = ["--cleanrl-home", str(HOME), "--fastlane-video-mode", mode, "--local", "--json"]
        runs.append(values_of(mosaic("train", "cleanrl:ppo", *words, *flags)["run_dir"]))
    assert runs[0] == runs[1]
