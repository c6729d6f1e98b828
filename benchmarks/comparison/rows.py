"""What is compared: one row of data an algorithm. A new comparison is a new row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

# CleanRL's scripts import these, whatever they train.
CLEANRL_PACKAGES = ("gymnasium", "numpy", "torch", "tyro", "tensorboard")

# The matrix-product pass of an off-policy algorithm starts to learn here, to be short.
PROBE_LEARNING_STARTS = 200


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison. `settings` are given to both sides; what is absent is CleanRL's default.

    `learning_starts` is 0 for an algorithm that learns from its first step on. `probe_steps` is
    the length of the pass that measures matrix products; 0 for a program whose products torch's
    profiler does not see. `against` is CleanRL's script where it has another name than our
    recipe. A row that is not `by_default` is run only where it is named.
    """

    algo: str
    env_id: str
    steps: int
    probe_steps: int
    learning_starts: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    by_default: bool = True
    against: str = ""

    @property
    def script(self) -> str:
        return f"cleanrl/{self.against or self.algo}.py"

    def window_start(self, steps: int) -> int:
        """Return the step from which time is taken: half of the learning phase is warm-up."""
        return self.learning_starts + (steps - self.learning_starts) // 2

    def probe_settings(self) -> dict[str, Any]:
        if not self.learning_starts:
            return dict(self.settings)
        return {**self.settings, "learning_starts": PROBE_LEARNING_STARTS}

    @property
    def probe_learning_steps(self) -> int:
        """Return how many steps of the matrix-product pass are in the learning phase."""
        return self.probe_steps - (PROBE_LEARNING_STARTS if self.learning_starts else 0)


_ATARI = ("ale-py", "opencv-python-headless")
# CleanRL's buffer of a million stacks takes 28 GB.
_ATARI_REPLAY = {"buffer_size": 100_000, "learning_starts": 1_000}

_ROWS = (
    Row("ppo", "CartPole-v1", steps=102_400, probe_steps=2_560),
    Row(
        "ppo_continuous_action",
        "HalfCheetah-v4",
        steps=40_960,
        probe_steps=4_096,
        packages=("mujoco",),
    ),
    Row(
        "ppo_atari",
        "BreakoutNoFrameskip-v4",
        steps=8_192,
        probe_steps=2_048,
        packages=_ATARI,
    ),
    Row("dqn", "CartPole-v1", steps=40_000, probe_steps=2_000, learning_starts=10_000),
    Row(
        "dqn_atari",
        "BreakoutNoFrameskip-v4",
        steps=4_000,
        probe_steps=600,
        learning_starts=1_000,
        settings=_ATARI_REPLAY,
        packages=_ATARI,
    ),
    Row("c51", "CartPole-v1", steps=30_000, probe_steps=2_000, learning_starts=10_000),
    Row(
        "c51_atari",
        "BreakoutNoFrameskip-v4",
        steps=4_000,
        probe_steps=600,
        learning_starts=1_000,
        settings=_ATARI_REPLAY,
        packages=_ATARI,
        by_default=False,
    ),
    Row(
        "ddpg_continuous_action",
        "HalfCheetah-v4",
        steps=4_000,
        probe_steps=800,
        learning_starts=1_000,
        settings={"learning_starts": 1_000},
        packages=("mujoco",),
    ),
    Row(
        "td3_continuous_action",
        "HalfCheetah-v4",
        steps=4_000,
        probe_steps=800,
        learning_starts=1_000,
        settings={"learning_starts": 1_000},
        packages=("mujoco",),
    ),
    Row(
        "sac_continuous_action",
        "HalfCheetah-v4",
        steps=3_000,
        probe_steps=600,
        learning_starts=1_000,
        settings={"learning_starts": 1_000},
        packages=("mujoco",),
    ),
)


def _in_jax(algo: str, twin: str) -> Row:
    """Return the row of a recipe in JAX beside CleanRL's torch script of what it is a twin of."""
    row = next(row for row in _ROWS if row.algo == twin)
    return replace(row, algo=algo, against=twin, probe_steps=0, by_default=False)


_JAX_ROWS = (
    _in_jax("dqn_jax", "dqn"),
    _in_jax("c51_jax", "c51"),
    _in_jax("ddpg_continuous_action_jax", "ddpg_continuous_action"),
    _in_jax("td3_continuous_action_jax", "td3_continuous_action"),
    _in_jax("dqn_atari_jax", "dqn_atari"),
    _in_jax("c51_atari_jax", "c51_atari"),
    _in_jax("ppo_atari_envpool_xla_jax", "ppo_atari"),
    _in_jax("ppo_atari_envpool_xla_jax_scan", "ppo_atari"),
)

ROWS: dict[str, Row] = {row.algo: row for row in (*_ROWS, *_JAX_ROWS)}
DEFAULT_ALGOS = tuple(row.algo for row in _ROWS if row.by_default)
