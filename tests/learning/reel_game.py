"""A user's module that registers a small game for the eye: a choice that pays much later.

The first picture is one of eight, and one of four acts is right for it. A reel of pictures follows,
whatever is done then: one reel after the right act, another after the others, and its last picture
pays 1 or -1. No picture tells by its looks what the next one is worth, so that the value has to
travel back from the end to the choice.
Observations are as of Atari games: the last four pictures, 84x84, at first one repeated.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

CUES, ACTS = 8, 4
LENGTH = 24  # steps of an episode
CELLS, CELL = 12, 7  # cells a side, pixels of one
STACK = 4


class Reels(gym.Env[np.ndarray, int]):
    def __init__(self) -> None:
        self.observation_space = spaces.Box(0, 255, (STACK, CELLS * CELL, CELLS * CELL), np.uint8)
        self.action_space = spaces.Discrete(ACTS)
        film = np.random.default_rng(0)  # the same for everyone: it is the game
        self._cues, self._reels = _pictures(film, CUES), _pictures(film, 2, LENGTH)
        self._right = film.integers(0, ACTS, CUES)
        self._step = self._cue = self._reel = 0
        self._stack = np.zeros(self.observation_space.shape, np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self._step, self._cue = 0, int(self.np_random.integers(CUES))
        self._stack[:] = self._cues[self._cue]
        return self._stack.copy(), {}

    def step(self, action: int):
        if self._step == 0:
            self._reel = int(action == self._right[self._cue])
        self._stack[:-1] = self._stack[1:]
        self._stack[-1] = self._reels[self._reel, self._step]
        self._step += 1
        is_over = self._step == LENGTH
        reward = (1.0 if self._reel else -1.0) if is_over else 0.0
        return self._stack.copy(), reward, is_over, False, {}


def _pictures(film: np.random.Generator, *shape: int) -> np.ndarray:
    cells = film.integers(0, 2, (*shape, CELLS, CELLS)).astype(np.uint8)
    return np.kron(255 * cells, np.ones((CELL, CELL), np.uint8))


gym.register("Reels-v0", Reels, max_episode_steps=LENGTH + 1)
