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


# Teachers that have hardly begun: in JAX some are good after 6,000 steps.
@pytest.mark.parametrize(
    ("teacher_algo", "teacher_steps", "student_algo"),
    [
        ("dqn_atari", 6000, "qdagger_dqn_atari_impalacnn"),
        ("dqn_atari_jax", 4000, "qdagger_dqn_atari_jax_impalacnn"),
    ],
    ids=["torch", "jax"],
)
def test_the_student_ends_above_its_warm_start(
    playing: Path, teacher_algo: str, teacher_steps: int, student_algo: str
) -> None:
    """Budget of the student: 4,000 steps of the teacher, 500 offline updates, 8,000 steps."""
    began, ended = [], []
    for seed in SEEDS:
        steps = f"--total-timesteps={teacher_steps}"
        teacher = launch(teacher_algo, playing, *GAME, steps, f"--seed={seed}")
        student = launch(
            student_algo,
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
