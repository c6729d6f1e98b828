"""The settings of algorithms that learn from a teacher; no framework is needed to read them."""

from __future__ import annotations

from dataclasses import dataclass

from mosaic.contracts.parameters import param


@dataclass(frozen=True)
class TeacherSettings:
    teacher_policy_path: str | None = param(
        None, "Policy file of the teacher.", group="teacher", runtime_only=True
    )
    train_teacher_steps: int | None = param(
        None,
        "Train a teacher for so many steps first, instead of taking one from a file.",
        range=(1, None),
        unit="steps",
        group="teacher",
        runtime_only=True,
    )
    teacher_model_exp_name: str = param(
        "dqn_atari", "Recipe of the teacher.", group="teacher", runtime_only=True
    )
    teacher_eval_episodes: int = param(
        10,
        "Episodes by which the teacher, and the student offline, are examined.",
        range=(1, None),
        unit="episodes",
        group="teacher",
    )
    teacher_steps: int = param(
        500_000, "Steps that the teacher plays.", range=(1, None), unit="steps", group="teacher"
    )
    offline_steps: int = param(
        500_000,
        "Updates on what the teacher played.",
        range=(0, None),
        unit="updates",
        group="teacher",
    )
    temperature: float = param(
        1.0,
        "Softness of the teacher's choices that are learned; higher is softer.",
        range=(1e-6, None),
        group="teacher",
    )
