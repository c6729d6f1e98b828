"""ProofofMemory-v0: an environment that tells an agent with a memory from one without.

The task is that of the same name which CleanRL's ppo_trxl ships. The best policy gets 1.2 in the
mean; the best that does not remember gets 0.28: the first move is made while the ends are shown,
and where it led tells a little.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from cleanrl_worker.envs.observations import Array

SHOWN_STEPS = 2  # steps that an agent is held, and sees which end is good
CELLS = 5  # from the middle to either end
FARTHEST_START = 2
TIME_COST = 0.1
PRIZE = 1.0 + TIME_COST * (CELLS + 1)

_PIXELS = 24  # of a cell's side, in pictures
_WHITE, _GRAY, _BLUE = (255, 255, 255), (200, 200, 200), (40, 80, 220)
_GOOD, _BAD = (60, 180, 75), (220, 60, 60)


class ProofOfMemory(gym.Env[Array, Any]):
    """A corridor of eleven cells. One end pays, the other costs as much, and only at first one
    sees which.

    Observed are the left end (1 good, -1 bad), the position from -1 to 1, and the right end; after
    the first steps both ends show 0. Actions: 0 goes left, 1 right. Every step that ends nowhere
    costs, but for those in which the agent is held.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = spaces.Box(-1.0, 1.0, (3,), np.float32)
        self.action_space = spaces.Discrete(2)
        self._cell, self._good_side, self._steps = 0, 1, 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        self._cell = int(self.np_random.integers(-FARTHEST_START, FARTHEST_START + 1))
        self._good_side = int(self.np_random.choice((-1, 1)))
        self._steps = 0
        return self._observe(), {}

    def step(self, action: int) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        if self._is_shown():
            return self._observe(), 0.0, False, False, {}
        self._cell += 1 if action == 1 else -1
        if abs(self._cell) < CELLS:
            return self._observe(), -TIME_COST, False, False, {}
        reward = PRIZE if self._cell == CELLS * self._good_side else -PRIZE
        return self._observe(), reward, True, False, {}

    def render(self) -> Any:
        """Draw the corridor, the agent in it, and the ends in colour while they are shown."""
        picture = np.full((_PIXELS, (2 * CELLS + 1) * _PIXELS, 3), _WHITE, np.uint8)
        picture[:, ::_PIXELS] = _GRAY
        for side in (-1, 1):
            colour = _GOOD if side == self._good_side else _BAD
            self._paint(picture, side * CELLS, colour if self._is_shown() else _GRAY, margin=0)
        self._paint(picture, self._cell, _BLUE, margin=_PIXELS // 4)
        return picture

    def _is_shown(self) -> bool:
        return self._steps <= SHOWN_STEPS

    def _observe(self) -> Array:
        shown = float(self._good_side) if self._is_shown() else 0.0
        return np.array([-shown, self._cell / CELLS, shown], np.float32)

    @staticmethod
    def _paint(picture: Array, cell: int, colour: tuple[int, int, int], *, margin: int) -> None:
        left = (cell + CELLS) * _PIXELS
        picture[margin : _PIXELS - margin, left + margin : left + _PIXELS - margin] = colour
