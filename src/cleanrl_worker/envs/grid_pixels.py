"""MiniGrid's environments as pictures, as CleanRL's ppo_trxl sees them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from minigrid.wrappers import RGBImgPartialObsWrapper

VIEW = 3  # cells of a side that the agent sees: little, so that it has to remember
TILE = 28  # pixels of a cell's side
LIMIT = 96  # steps of an episode, at most


def make_grid(env_id: str, **options: Any) -> gym.Env[Any, Any]:
    """Make a grid whose observation is a picture of 84x84 pixels in three colours."""
    made = gym.make(
        env_id,
        max_episode_steps=LIMIT,
        disable_env_checker=True,
        agent_view_size=VIEW,
        **options,
    )
    seen: gym.Env[Any, Any] = RGBImgPartialObsWrapper(made, tile_size=TILE)  # type: ignore[no-untyped-call]
    return seen
