"""A tiny environment whose every number can be foretold."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

TERMINATING_ACTION = 1
LIMIT = 3
ID = "MosaicProbe-v0"


class Probe(gym.Env[np.ndarray[Any, Any], Any]):
    """Counts its steps, and shows count, episode number and the number drawn at the last reset.

    Action 1 terminates; after LIMIT steps the time limit truncates. The reward is the step count.
    """

    observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float64)
    action_space = spaces.Discrete(2)
    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(self) -> None:
        self.count = 0
        self.episode = 0
        self.drawn = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
        super().reset(seed=seed)
        self.count = 0
        self.episode += 1
        self.drawn = float(self.np_random.random())
        return self.observe(), {}

    def step(self, action: Any) -> tuple[np.ndarray[Any, Any], float, bool, bool, dict[str, Any]]:
        self.count += 1
        return self.observe(), float(self.count), action == TERMINATING_ACTION, False, {}

    def observe(self) -> np.ndarray[Any, Any]:
        return np.array([self.count, self.episode, self.drawn])


def register() -> None:
    """Let Gymnasium know the probe; a second time does nothing."""
    if ID not in gym.registry:
        gym.register(ID, entry_point=Probe, max_episode_steps=LIMIT)
