"""What a recipe is, and the values that several share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cleanrl_worker.envs.sight import USUAL, Normalise, Sight
from mosaic.contracts.schema import TunedRow
from mosaic.contracts.search import SearchRange

CLEANRL = "CleanRL fe8d8a03"


@dataclass(frozen=True, slots=True)
class Recipe:
    """One registry name.

    `overrides` are its defaults of run options and hyperparameters; `omits` names parameters of
    the algorithm that it does not have; `sibling` is the name for the other kind of actions;
    `normalise` brings rewards, or observations too, to one scale; `sight` is how it sees them;
    `pooled_games`: its Atari games are envpool's, or else ale-py's vector environment's;
    `averaged_episodes` are those whose mean return is logged with each, where CleanRL does so;
    `steps_inside`: envpool's games are stepped inside its compiled rollout;
    `is_shared`: its environments are shared out among `world_size` processes.
    """

    name: str
    algorithm: str
    summary: str
    env_families: tuple[str, ...]
    source: str
    actions: Literal["discrete", "branches", "box"]
    sibling: str | None = None
    framework: Literal["torch", "jax"] = "torch"
    normalise: Normalise | None = None
    sight: Sight = USUAL
    pooled_games: bool = False
    averaged_episodes: int = 0
    steps_inside: bool = False
    is_shared: bool = False
    omits: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)
    tuned: tuple[TunedRow, ...] = ()
    search: tuple[SearchRange, ...] = ()  # beside those of search_spaces.py, or in their place
    smoke: Mapping[str, Any] = field(default_factory=dict)

    @property
    def module(self) -> str:
        return f"cleanrl_worker.algorithms.{self.algorithm}"


SMOKE_CONTINUOUS: dict[str, Any] = {
    "env_id": "Pendulum-v1",
    "total_timesteps": 64,
    "num_envs": 2,
}
SMOKE_REPLAY: dict[str, Any] = {
    "total_timesteps": 64,
    "num_envs": 2,
    "learning_starts": 16,
    "buffer_size": 64,
    "batch_size": 8,
}
ATARI: dict[str, Any] = {
    "env_families": ("atari",),
    "source": CLEANRL,
    "actions": "discrete",
    "extras": ("atari",),
}
ON_BREAKOUT: dict[str, Any] = {
    "env_id": "BreakoutNoFrameskip-v4",
    "total_timesteps": 10_000_000,
}
# CleanRL's scripts for envpool, which name the game as that does.
POOLED: dict[str, Any] = ATARI | {"pooled_games": True, "averaged_episodes": 20}
ON_POOLED_BREAKOUT: dict[str, Any] = ON_BREAKOUT | {"env_id": "Breakout-v5", "num_envs": 8}
SMOKE_ROLLOUT: dict[str, Any] = {
    "total_timesteps": 64,
    "num_envs": 2,
    "num_steps": 16,
    "num_minibatches": 2,
    "update_epochs": 2,
}
REPLAY_ON_BREAKOUT: dict[str, Any] = ON_BREAKOUT | {
    "buffer_size": 1_000_000,
    "batch_size": 32,
    "end_e": 0.01,
    "exploration_fraction": 0.1,
    "learning_starts": 80_000,
    "train_frequency": 4,
}
DQN_ON_BREAKOUT: dict[str, Any] = REPLAY_ON_BREAKOUT | {
    "learning_rate": 1e-4,
    "tau": 1.0,
    "target_network_frequency": 1000,
}
