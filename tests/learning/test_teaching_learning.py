"""A student begins where its teacher's lessons end, and goes beyond. `make learn` runs this."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.learning.launching import launch, spread

pytestmark = [pytest.mark.learn, pytest.mark.timeout(3600)]

SEEDS = (1, 2, 3)
EPISODES = 200
GAME = [
    "--env-id=catch_game:Catch-v0",
    "--num-envs=8",
    "--learning-rate=0.00025",
    "--buffer-size=16000",
    "--learning-starts=500",
    "--train-frequency=8",
    "--target-network-frequency=400",
    "--exploration-fraction=0.3",
    "--checkpoint-replay=none",
]
LESSONS = [
    "--total-timesteps=12500",
    "--teacher-steps=4000",
    "--offline-steps=500",
    f"--teacher-eval-episodes={EPISODES}",
    "--temperature=0.1",
]


def test_the_student_ends_above_its_warm_start(playing: Path) -> None:
    """Budget of the student: 4,000 steps of the teacher, 500 offline updates, 8,000 steps."""
    began, ended = [], []
    for seed in SEEDS:
        teacher = launch("dqn_atari", playing, *GAME, "--total-timesteps=6000", f"--seed={seed}")
        student = launch(
            "qdagger_dqn_atari_impalacnn",
            playing,
            *GAME,
            *LESSONS,
            f"--teacher-policy-path={teacher.policy}",
            f"--seed={seed}",
        )
        (taught,) = student.points("charts/teacher/avg_episodic_return")
        began.append(student.points("charts/offline/avg_episodic_return")[-1])
        ended.append(student.evaluate(EPISODES))
        print(f"teacher {taught:.3f}, warm start {began[-1]:.3f}, in the end {ended[-1]:.3f}")
    assert min(ended) - max(began) > max(spread(began), spread(ended)), (began, ended)
