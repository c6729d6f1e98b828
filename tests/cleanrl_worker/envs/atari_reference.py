"""Atari games as Gymnasium's own wrappers prepare them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

NOOP, FIRE, NEXT = range(3)


class Lives(gym.Wrapper[Any, Any, Any, Any]):
    """What CleanRL adds to the preprocessing: an episode is a life, and FIRE begins it."""

    def __init__(self, env: AtariPreprocessing) -> None:
        super().__init__(env)
        self._ale = env.ale
        self._lives = 0
        self._is_over = True

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(**options) if self._is_over else (self.env.step(NOOP)[0], {})
        for action in (FIRE, NEXT):
            obs = self.env.step(action)[0]
        self._lives = self._ale.lives()
        return obs, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, points, self._is_over, truncated, _ = self.env.step(action)
        lives = self._ale.lives()
        has_lost = 0 < lives < self._lives
        self._lives = lives
        return obs, points, self._is_over or has_lost, truncated, {"is_over": self._is_over}


def make_reference(game: str) -> gym.Env[Any, Any]:
    emulator = gym.make(f"{game}NoFrameskip-v4", disable_env_checker=True)
    return FrameStackObservation(Lives(AtariPreprocessing(emulator, noop_max=30)), 4)
