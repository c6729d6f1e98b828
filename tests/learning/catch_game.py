"""A user's module that registers a small game for the eye: catch what falls.

A ball falls from the top, a row a step, and drifts to a side, off the walls. The paddle at the
bottom moves by a cell or not. The last step pays 1 for a catch and -1 for a miss, all others
nothing. Observations are as of Atari games: the last four pictures, 84x84, at first one repeated.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

CELLS, CELL = 12, 7  # cells a side, pixels of one
STACK = 4
LEFT, STAY, RIGHT = -1, 0, 1


class Catch(gym.Env[np.ndarray, int]):
    def __init__(self) -> None:
        self.observation_space = spaces.Box(0, 255, (STACK, CELLS * CELL, CELLS * CELL), np.uint8)
        self.action_space = spaces.Discrete(3)
        self._row = self._column = self._drift = self._paddle = 0
        self._stack = np.zeros(self.observation_space.shape, np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self._row = 0
        self._column, self._paddle = (int(cell) for cell in self.np_random.integers(0, CELLS, 2))
        self._drift = int(self.np_random.choice([LEFT, RIGHT]))
        self._stack[:] = self._picture()
        return self._stack.copy(), {}

    def step(self, action: int):
        self._paddle = min(max(self._paddle + (LEFT, STAY, RIGHT)[int(action)], 0), CELLS - 1)
        if not 0 <= self._column + self._drift < CELLS:
            self._drift = -self._drift
        self._row, self._column = self._row + 1, self._column + self._drift
        self._stack[:-1] = self._stack[1:]
        self._stack[-1] = self._picture()
        is_over = self._row == CELLS - 1
        has_caught = abs(self._column - self._paddle) <= 1
        reward = (1.0 if has_caught else -1.0) if is_over else 0.0
        return self._stack.copy(), reward, is_over, False, {}

    def _picture(self) -> np.ndarray:
        cells = np.zeros((CELLS, CELLS), np.uint8)
        cells[-1, max(self._paddle - 1, 0) : self._paddle + 2] = 128
        cells[self._row, self._column] = 255
        return np.kron(cells, np.ones((CELL, CELL), np.uint8))


gym.register("Catch-v0", Catch, max_episode_steps=CELLS)
