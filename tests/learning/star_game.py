"""A user's module that registers a game for the eye in which little matters: a star that flashes.

A cloud drifts at random. Once in an episode, after 60 to 119 steps, a star is to be seen, in one
picture. What is done in that step decides alone: each of three actions is for a third of the sky.
Two steps later, after the star has gone, the episode ends with 1 if it was the right one, and with
-1 if not; all other rewards are 0. Observations are as of Atari games, four pictures of 84x84.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

CELLS, CELL = 12, 7  # cells a side, pixels of one
STACK = 4
WAIT = (60, 120)  # steps until the star, the last one not included
DELAY = 2  # steps from the deciding one to the one that pays
THIRDS, STAR = 3, 2  # the star's side in cells
SKY = 5  # the star's row
LONGEST = WAIT[1] + DELAY


class Star(gym.Env[np.ndarray, int]):
    def __init__(self) -> None:
        self.observation_space = spaces.Box(0, 255, (STACK, CELLS * CELL, CELLS * CELL), np.uint8)
        self.action_space = spaces.Discrete(THIRDS)
        self._step = self._when = self._star = self._cloud = 0
        self._choice: int | None = None
        self._stack = np.zeros(self.observation_space.shape, np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self._step, self._choice = 0, None
        self._when = int(self.np_random.integers(*WAIT))
        self._cloud = int(self.np_random.integers(CELLS))
        self._star = STAR * int(self.np_random.integers(CELLS // STAR))
        self._stack[:] = self._picture()
        return self._stack.copy(), {}

    def step(self, action: int):
        if self._step == self._when:
            self._choice = int(action)
        self._step += 1
        self._cloud = (self._cloud + int(self.np_random.integers(-1, 2))) % CELLS
        self._stack[:-1] = self._stack[1:]
        self._stack[-1] = self._picture()
        is_over = self._step > self._when + DELAY
        is_right = self._choice == self._star * THIRDS // CELLS
        reward = (1.0 if is_right else -1.0) if is_over else 0.0
        return self._stack.copy(), reward, is_over, False, {}

    def _picture(self) -> np.ndarray:
        cells = np.zeros((CELLS, CELLS), np.uint8)
        cells[0, self._cloud] = 128
        if self._step == self._when:
            cells[SKY : SKY + STAR, self._star : self._star + STAR] = 255
        if self._choice is not None:
            width = CELLS // THIRDS
            cells[-1, self._choice * width : (self._choice + 1) * width] = 128
        return np.kron(cells, np.ones((CELL, CELL), np.uint8))


gym.register("Star-v0", Star, max_episode_steps=LONGEST + 1)
