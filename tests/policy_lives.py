"""The five algorithms whose policies are followed from training to play."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# Far more steps than are waited for: a run is cancelled once it has passed a checkpoint.
LONG = 50_000_000


@dataclass(frozen=True, slots=True)
class Life:
    algo: str
    env_id: str
    interval: int  # between checkpoints
    settings: Mapping[str, int]


LIVES = (
    Life("ppo", "CartPole-v1", 2_000, {"num_envs": 2}),
    Life("dqn", "CartPole-v1", 2_000, {"learning_starts": 500}),
    Life("sac_continuous_action", "Pendulum-v1", 1_000, {"learning_starts": 200}),
    # Not on a game: checkpoints come after two of the longest games, and those last hours.
    Life("ppo_atari_lstm", "MiniGrid-Empty-5x5-v0", 500, {"num_envs": 1, "num_minibatches": 1}),
    Life("dqn_jax", "CartPole-v1", 2_000, {"learning_starts": 500}),
)
