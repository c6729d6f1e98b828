"""A user's module that registers a small game for the eye: a choice that pays much later.

The first picture is one of 24, and one of three acts is right for it, each for eight of them. One
of two reels of pictures follows, which belong to that first picture: one after the right act, the
other after the wrong ones. It goes on whatever is done then, and its last picture pays 1 or -1. No
picture tells by its looks what the next one is worth, so that each value has to travel back from
the end to the choice; until it has, a choice is a guess, made anew for each of the 24. One and the
same act always earns -1/3 on average.
Observations are as of Atari games: the last four pictures, 84x84, at first one repeated.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

CUES, ACTS = 24, 3
LENGTH = 22  # steps of an episode
CELLS, CELL = 12, 7  # cells a side, pixels of one
STACK = 4


class Reels(gym.Env[np.ndarray, int]):
    def __init__(self) -> None:
        self.observation_space = spaces.Box(0, 255, (STACK, CELLS * CELL, CELLS * CELL), np.uint8)
        self.action_space = spaces.Discrete(ACTS)
        film = np.random.default_rng(0)  # the same for everyone: it is the game
        self._cues, self._reels = _pictures(film, CUES), _pictures(film, CUES, 2, LENGTH)
        self._right = film.permutation(np.arange(CUES) % ACTS)
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
        self._stack[-1] = self._reels[self._cue, self._reel, self._step]
        self._step += 1
        is_over = self._step == LENGTH
        reward = (1.0 if self._reel else -1.0) if is_over else 0.0
        return self._stack.copy(), reward, is_over, False, {}


def _pictures(film: np.random.Generator, *shape: int) -> np.ndarray:
    cells = film.integers(0, 2, (*shape, CELLS, CELLS)).astype(np.uint8)
    return np.kron(255 * cells, np.ones((CELL, CELL), np.uint8))


gym.register("Reels-v0", Reels, max_episode_steps=LENGTH + 1)
