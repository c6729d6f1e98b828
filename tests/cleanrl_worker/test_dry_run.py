"""The dry run around a fake algorithm: what it prints, and that it leaves nothing."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.dry_run import dry_run
from mosaic.contracts.errors import ConfigError, DependencyMissing
from mosaic.workers.emitter import EventEmitter

FAKE_ALGORITHM = Path(__file__).with_name("fake_algorithm.py")
CANARY = "canary-0123456789"

CONFIG = CleanRLWorkerConfig(
    run_id="run-1",
    algo="ppo",
    env_id="CartPole-v1",
    total_timesteps=1000,
    seed=1,
    extras={"fastlane_video_mode": "grid"},
    secrets={"WANDB_API_KEY": CANARY},
)


@pytest.fixture(autouse=True)
def _own_directories(tmp_path: Path, var_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


def run(scenario: str, tmp_path: Path, *, emit_summary: bool = True) -> tuple[int, str]:
    """Return the exit code and what was written on stdout, after checking that nothing is left."""
    stdout = tmp_path / "stdout"
    emitter = EventEmitter(os.open(stdout, os.O_WRONLY | os.O_CREAT))
    launcher = (sys.executable, "-P", str(FAKE_ALGORITHM), scenario)
    try:
        code = dry_run(CONFIG, emitter, emit_summary=emit_summary, launcher=launcher)
    finally:
        emitter.close()
        assert list((tmp_path / "var").iterdir()) == []
        assert list((tmp_path / "temporary").iterdir()) == []
    return code, stdout.read_text()


def test_the_summary_is_one_json_object(tmp_path: Path) -> None:
    code, stdout = run("summarise", tmp_path)
    (line,) = stdout.splitlines()
    summary: dict[str, Any] = json.loads(line)
    assert code == 0
    assert summary["algo"] == "ppo"
    assert summary["callable"] == "train"
    assert summary["config"] == CONFIG.to_json()
    assert "--dry-run" not in summary["args"], "the arguments of the run that would follow"
    assert summary["device"] == "cpu"
    assert summary["resources"] == {"memory_mb": 400}
    assert summary["warnings"][1] == "a note"
    assert CANARY not in line


def test_without_a_summary_a_line_for_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("summarise", tmp_path, emit_summary=False) == (0, "")
    said = capsys.readouterr().err
    assert "dry run passed: ppo on CartPole-v1, MLPAgent with 9155 parameters, on cpu." in said
    assert "Warning: a note" in said


def test_a_refusal_is_the_error_that_the_algorithm_names(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="num_minibatches=6"):
        run("reject", tmp_path)
    with pytest.raises(DependencyMissing, match="extra 'atari'"):
        run("reject_dependency", tmp_path)


def test_a_crash_shows_the_log_that_goes_with_the_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("crash", tmp_path) == (1, "")
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert said.splitlines()[-1].endswith("failed: ValueError: the loss is nan")
    assert CANARY not in said
