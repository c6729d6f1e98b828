"""A user's module that registers a game in which only exploring pays: a deep sea (Osband 2019).

A diver sinks a row a step, and drifts a column to the left or the right. Treasure lies where the
water is deepest, after a drift to the right with every step; each of those costs a little, and no
other step pays or costs anything. Which of two actions leads right differs from cell to cell and is
the same in every episode. Chance finds the treasure once in 2^SIZE episodes, and long before that
an agent has learned what going right costs.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

SIZE = 16  # rows and columns
TREASURE, COST = 1.0, 0.01  # of the whole way
RIGHT_ACTIONS = np.random.default_rng(0).integers(2, size=(SIZE, SIZE))


class DeepSea(gym.Env[int, int]):
    def __init__(self) -> None:
        self.observation_space = spaces.Discrete(SIZE * SIZE)
        self.action_space = spaces.Discrete(2)
        self._row = self._column = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self._row = self._column = 0
        return 0, {}

    def step(self, action: int):
        goes_right = int(action) == RIGHT_ACTIONS[self._row, self._column]
        has_arrived = goes_right and self._column == SIZE - 1
        reward = (TREASURE if has_arrived else 0.0) - (COST / SIZE if goes_right else 0.0)
        column = self._column + (1 if goes_right else -1)
        self._row, self._column = self._row + 1, min(max(column, 0), SIZE - 1)
        is_over = self._row == SIZE
        cell = min(self._row, SIZE - 1) * SIZE + self._column
        return cell, reward, is_over, False, {}


gym.register("DeepSea-v0", DeepSea, max_episode_steps=SIZE)
