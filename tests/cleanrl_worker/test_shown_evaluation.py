"""An evaluation on the fast lane: marked as one, with the numbers of its last batch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cleanrl_worker.eval_preparation import prepare_evaluation
from cleanrl_worker.lanes import _open, show_batch
from mosaic.fastlane import hud
from mosaic.fastlane.reader import LaneReader
from tests.cleanrl_worker.trained import run_evaluator, train

TINY = ("--total-timesteps=64", "--num-envs=2", "--num-steps=16")


def test_frames_and_the_batch_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = train(tmp_path / "ppo", "ppo", *TINY)
    monkeypatch.setenv("MOSAIC_RUN_ID", "shown-evaluation")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setenv("GYM_GUI_FASTLANE_VIDEO_MODE", "single")
    prepared = prepare_evaluation("ppo", [f"--policy-path={trained.model}"])
    try:
        obs = prepared.stage.begin(0, 1)
        prepared.stage.step(prepared.policy.choose(obs, None))
        show_batch(
            {
                "batch_index": 3,
                "episodes": 50,
                "avg_return": 112.3,
                "min_return": 90.1,
                "max_return": 142.6,
            }
        )
        with LaneReader("shown-evaluation") as reader:
            status = reader.status()
            assert status is not None
            lines = hud.lines(status, None)
            assert reader.read(0) is not None, "a picture of the first step"
    finally:
        prepared.stage.close()
        _open.pop().remove()
    assert lines[0] == "Fast lane (Eval): connected"
    assert lines[1] == "eval batch 3 | episodes=50 avg=112.3 min=90.1 max=142.6"


def test_the_summary_has_an_interval_and_the_extremes(tmp_path: Path) -> None:
    trained = train(tmp_path / "ppo", "ppo", *TINY)
    code, said = run_evaluator(
        tmp_path, "ppo", f"--policy-path={trained.model}", "--eval-batch-size=7", "--seed=1"
    )
    assert code == 0, said
    (path,) = tmp_path.glob("evals/*/eval_summary.json")
    summary = json.loads(path.read_text())
    low, high = summary["ci95_return"]
    assert low <= summary["avg_return"] <= high
    found = summary["highlights"]
    assert found["best"]["return"] == summary["max_return"]
    assert found["worst"]["return"] == summary["min_return"]
    assert found["median"]["return"] == summary["median_return"]
    assert found["best"]["video"] is None
