"""QDagger: its distillation by brute force, its phases, and which teachers are refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from cleanrl_worker.agents.nature import NatureQNetwork
from cleanrl_worker.algorithms import qdagger
from cleanrl_worker.models import save_model
from cleanrl_worker.preparation import prepare
from cleanrl_worker.recipes import RECIPES
from cleanrl_worker.teaching import distillation_weight
from mosaic.contracts.errors import EXIT_CONFIG, EXIT_OK, MosaicError
from tests.contract.forked import launched
from tests.contract.short_games import SHORT_GAME, STEPS
from tests.contract.test_recipes import points

NAMES = ("qdagger_dqn_atari_impalacnn", "qdagger_dqn_atari_jax_impalacnn")
CUT = 4 * STEPS  # two environments, two of the longest games each


def flags(name: str, **changes: Any) -> list[str]:
    values = {**RECIPES[name].smoke, "env_id": SHORT_GAME, **changes}
    return [
        f"--{key.replace('_', '-')}={value}" for key, value in values.items() if value is not None
    ]


def saved_teacher(path: Path, actions: int = 4, **changes: Any) -> Path:
    torch.manual_seed(1)
    description = {"algo": "dqn_atari", "env_id": SHORT_GAME, "settings": {}, **changes}
    save_model(path, NatureQNetwork(actions).state_dict(), description)
    return path


def refusal(path: Path, **changes: Any) -> str:
    asked = {"train_teacher_steps": None, "teacher_policy_path": path, **changes}
    with pytest.raises(MosaicError) as caught:
        prepare(NAMES[0], flags(NAMES[0], **asked))
    assert caught.value.exit_code == EXIT_CONFIG
    return caught.value.one_line()


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_divergence_is_a_mean_over_the_batch(temperature: float) -> None:
    generator = torch.Generator().manual_seed(2)
    teacher, student = torch.randn((2, 5, 3), generator=generator, dtype=torch.float64)
    wanted = 0.0
    for taught, found in zip(teacher.tolist(), student.tolist(), strict=True):
        p, q = ([math.exp(value / temperature) for value in row] for row in (taught, found))
        p, q = ([value / sum(row) for value in row] for row in (p, q))
        wanted += sum(a * math.log(a / b) for a, b in zip(p, q, strict=True)) / 5

    assert qdagger.divergence(teacher, student, temperature).item() == pytest.approx(wanted)


def test_the_divergence_draws_the_student_to_the_teacher() -> None:
    teacher = torch.tensor([[2.0, 0.0, -1.0]])
    student = torch.zeros((1, 3), requires_grad=True)
    for _ in range(500):
        loss = qdagger.divergence(teacher, student, 1.0)
        (gradient,) = torch.autograd.grad(loss, student)
        student = (student - gradient).detach().requires_grad_()

    assert torch.allclose(student.softmax(-1), teacher.softmax(-1), atol=1e-3)


@pytest.mark.parametrize(
    ("student", "teacher", "weight"),
    [
        (0.0, 10.0, 1.0),
        (2.5, 10.0, 0.75),
        (10.0, 10.0, 0.0),
        (12.0, 10.0, 0.0),
        (-20.0, 10.0, 1.0),
        (-20.0, -10.0, 0.5),
        (-10.0, -20.0, 0.0),
        (0.0, 0.0, 0.0),
    ],
)
def test_the_distillation_ends_when_the_student_is_as_good(
    student: float, teacher: float, weight: float
) -> None:
    assert distillation_weight(student, teacher) == pytest.approx(weight)


def test_a_missing_teacher_is_refused(tmp_path: Path) -> None:
    assert "teacher_policy_path=" in refusal(tmp_path / "none.cleanrl_model")
    with pytest.raises(MosaicError, match="teacher_policy_path is missing"):
        prepare(NAMES[0], flags(NAMES[0], train_teacher_steps=None))


def test_an_unfit_teacher_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "teacher.cleanrl_model"
    assert "not on 'ShortBreakout-v0'" in refusal(saved_teacher(path, env_id="PongNoFrameskip-v4"))
    assert "is of 'c51_atari', not of 'dqn_atari'" in refusal(saved_teacher(path, algo="c51_atari"))
    assert "is 6x512, not 4x512" in refusal(saved_teacher(path, actions=6))
    assert "teacher_model_exp_name='ppo'" in refusal(path, teacher_model_exp_name="ppo")
    assert "give one" in refusal(path, train_teacher_steps=30)


def test_a_run_too_short_for_its_phases_is_refused(tmp_path: Path) -> None:
    teacher = saved_teacher(tmp_path / "teacher.cleanrl_model")
    assert "total_timesteps=40 ends before" in refusal(teacher, total_timesteps=40)


@pytest.mark.parametrize("name", [NAMES[0], pytest.param(NAMES[1], marks=pytest.mark.slow)])
def test_a_run_resumed_in_the_offline_phase_ends_the_same(name: str, tmp_path: Path) -> None:
    settings = flags(
        name,
        teacher_steps=CUT - 24 - 8,
        offline_steps=24,
        total_timesteps=CUT + 48,
        checkpoint_interval=CUT,
        checkpoint_replay="all",
    )
    with launched(tmp_path / "whole", name, *settings) as whole:
        assert whole.wait() == EXIT_OK, whole.output
    cut = whole.checkpoints[0]
    assert json.loads((cut / "checkpoint.json").read_text())["step"] == CUT  # 8 updates of 24
    with launched(tmp_path / "rest", name, f"--checkpoint-path={cut}") as rest:
        assert rest.wait() == EXIT_OK, rest.output

    assert all(torch.equal(rest.weights[key], tensor) for key, tensor in whole.weights.items())
    expected = points(whole.rows(), after=CUT)
    assert points(rest.rows(), after=CUT) == expected
    assert "charts/offline/avg_episodic_return" in {tag for tag, _, _ in expected}
    every = {tag for tag, _, _ in points(whole.rows(), after=0)}
    assert "charts/teacher/avg_episodic_return" in every


def test_a_teacher_from_a_file_teaches(tmp_path: Path) -> None:
    teacher = saved_teacher(tmp_path / "teacher.cleanrl_model")
    settings = flags(NAMES[0], train_teacher_steps=None, teacher_policy_path=teacher)
    with launched(tmp_path / "run", NAMES[0], *settings, "--total-timesteps=160") as run:
        assert run.wait() == EXIT_OK, run.output
    assert any("charts/distill_coeff" in row["values"] for row in run.rows())
