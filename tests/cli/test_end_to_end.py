"""`mosaic train` with the real worker: PPO on CartPole, from the command to the files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TRAIN = ("train", "ppo", "--env-id", "CartPole-v1", "--total-timesteps", "4096", "--local")


def mosaic(where: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mosaic.cli", *words],
        capture_output=True,
        text=True,
        cwd=where,
        timeout=110,
        check=False,
    )


def test_ppo_trains_and_everything_lies_where_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MOSAIC_VAR_DIR", raising=False)
    done = mosaic(tmp_path, *TRAIN, "--seed", "1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ppo on CartPole-v1  4,096 steps\n")
    assert ", seed 1\n" in done.stdout
    [run] = (tmp_path / "var/trainer/runs").iterdir()
    lines = done.stdout.splitlines()
    assert f"  run          var/trainer/runs/{run.name}" in lines
    places = dict(line.split() for line in lines if line.startswith("    "))
    assert set(places) >= {"model", "tensorboard", "metrics", "logs"}
    assert all((run / place).exists() for place in places.values())
    manifest = json.loads((run / "analytics.json").read_text())
    assert manifest["status"] == "completed"
    assert manifest["artifacts"]["policy"]["path"] == places["model"]
    shown = next(line.split()[1] for line in lines if line.startswith("  evaluation"))
    assert float(shown) == pytest.approx(manifest["metrics"]["final"]["eval/episodic_return"], 0.01)
    assert len(list((tmp_path / "var/trainer/configs").iterdir())) == 2
