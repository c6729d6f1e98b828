"""Automatic curricula: Syllabus-RL chooses the tasks, and is kept from the rest of the run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from cleanrl_worker.envs.registry import resolve
from cleanrl_worker.wrappers.syllabus import TaskChooser, _import_syllabus
from mosaic.contracts.curriculum import METHODS
from mosaic.contracts.errors import DependencyMissing
from tests.cleanrl_worker.test_curriculum import points_of, run_launcher

pytest.importorskip("syllabus")

TASKS = ("CartPole-v0", "CartPole-v1")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_chooses_and_is_restored(
    method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    np.random.seed(5)
    before, errors = np.random.get_state(), np.geterr()
    chooser, twin = TaskChooser(method, TASKS, 1), TaskChooser(method, TASKS, 2)

    def play(one: TaskChooser, episodes: int) -> list[int]:
        chosen = []
        for number in range(episodes):
            chosen.append(one.choose(0))
            one.finished(0, chosen[-1], float(number % 3 + 5 * chosen[-1]), number % 2 == 0)
        return chosen

    assert set(play(chooser, 60)) == {0, 1}
    assert 0 < chooser.metrics()["curriculum/entropy"] <= np.log(2) + 1e-9
    twin.load_state_dict(chooser.state_dict())
    assert play(chooser, 60) == play(twin, 60)
    with pytest.raises(ValueError, match=f"it is of {method} with CartPole-v0, CartPole-v1"):
        TaskChooser(method, (*TASKS, "Other-v0"), 1).load_state_dict(chooser.state_dict())
    assert capsys.readouterr().out == "", "stdout is the worker's"
    assert np.geterr() == errors
    assert str(np.random.get_state()) == str(before), "seeds stay what they fix"
    assert "ray" not in sys.modules or sys.modules["ray"].__file__ is not None


def test_every_environment_of_a_batch_plays_what_is_chosen() -> None:
    chooser = TaskChooser("domain_randomization", TASKS, 1)
    envs = chooser.build([resolve(task) for task in TASKS], 2, None)
    first = envs.reset(4)
    lengths = set()
    for _ in range(3_000):
        step = envs.step(np.random.default_rng(0).integers(0, 2, 2))
        lengths |= {episode.length for episode in step.episodes}
    assert lengths
    assert (chooser._played > 0).all()
    assert first.shape == (2, 4)
    envs.close()


def test_a_run_is_resumed_exactly(tmp_path: Path) -> None:
    curriculum = {"engine": "syllabus", "method": "learning_progress", "tasks": list(TASKS)}
    flags = ["--env-id=CartPole-v1", "--seed=3", "--total-timesteps=3072", "--tensorboard-dir=None"]
    whole = run_launcher(
        tmp_path / "whole",
        *flags,
        "--num-envs=1",
        "--checkpoint-interval=1000",
        f"--curriculum={json.dumps(curriculum)}",
    )
    checkpoint = whole / "checkpoints" / "step-1024.ckpt"
    child = run_launcher(tmp_path / "child", *flags, f"--checkpoint-path={checkpoint}")
    expected = [point for point in points_of(whole) if point[0] > 1024 or "eval/" in point[1]]
    assert points_of(child) == expected


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    _import_syllabus.cache_clear()
    monkeypatch.setitem(sys.modules, "syllabus", None)
    with pytest.raises(DependencyMissing) as refused:
        TaskChooser("plr", TASKS, 1)
    assert refused.value.exit_code == 3
    assert "pip install 'mosaic-rl[curriculum]'" in refused.value.one_line()
