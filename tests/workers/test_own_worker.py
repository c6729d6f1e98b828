"""The documentation's worker of one's own: installed as anybody would, discovered, and run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.solo_workers import Bench

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "coin_worker"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the package into a directory of its own, without a network."""
    source, target = tmp_path / "source", tmp_path / "site"
    shutil.copytree(EXAMPLE, source)
    subprocess.run(
        [
            *(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--offline", "--no-deps"),
            *("--no-build-isolation", "--python", sys.executable, "--target", str(target)),
            str(source),
        ],
        check=True,
    )
    path = os.pathsep.join(filter(None, [str(target), os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", path)
    return target


def test_it_has_forty_lines() -> None:
    text = (EXAMPLE / "coin_worker" / "__init__.py").read_text()
    assert sum(bool(line.strip()) for line in text.splitlines()) <= 40


def test_it_is_discovered_and_runs(installed: Path, tmp_path: Path) -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "mosaic.cli", "workers", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    [coin] = [worker for worker in json.loads(listed.stdout) if worker["name"] == "coin"]
    assert coin["available"], coin["reason"]
    assert coin["capabilities"]["lane"] == "telemetry"
    ran = Bench("coin_worker", tmp_path).run(
        "tossed", algo="toss", env_id="Coin-v0", total_timesteps=20, seed=1, extras={"bias": 1.0}
    )
    assert ran.code == 0, ran.stderr
    assert [episode["total_reward"] for episode in ran.told("episode")] == [1.0] * 20
