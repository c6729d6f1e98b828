"""Tiny environments whose optimal values and policies are known exactly."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Probe(gym.Env[np.ndarray, Any]):
    """An episode of `length` steps with one number as observation; subclasses pay the reward."""

    length = 1
    truncates = False

    def __init__(self, actions: gym.Space[Any] | None = None) -> None:
        self.observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = actions or spaces.Discrete(2)
        self._steps = 0
        self._sign = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self._steps = 0
        self._sign = float(self.np_random.choice([-1.0, 1.0]))
        return self._observe(), {}

    def step(self, action: Any):
        reward = self.pay(action)
        self._steps += 1
        ended = self._steps >= self.length
        return self._observe(), reward, ended and not self.truncates, ended and self.truncates, {}

    def _observe(self) -> np.ndarray:
        return np.array([self._sign], np.float32)

    def pay(self, action: Any) -> float:
        raise AssertionError("a probe pays something")


class ConstantReward(Probe):
    """Always pays 1: the value is 1."""

    def pay(self, action: Any) -> float:
        return 1.0


class SignReward(Probe):
    """Pays what is seen: the value is the observation."""

    def pay(self, action: Any) -> float:
        return self._sign


class DelayedReward(Probe):
    """Pays 1 in the second of two steps: the first value is gamma."""

    length = 2

    def _observe(self) -> np.ndarray:
        return np.array([self._steps - 0.5], np.float32)

    def pay(self, action: Any) -> float:
        return float(self._steps == 1)


class EndlessReward(Probe):
    """Pays 1 for ever; the episodes are only cut: the value is 1 / (1 - gamma)."""

    length = 5
    truncates = True

    def _observe(self) -> np.ndarray:
        return np.ones(1, np.float32)

    def pay(self, action: Any) -> float:
        return 1.0


class MatchTheSign(Probe):
    """Pays 1 for the action that the observation names, else -1."""

    def pay(self, action: Any) -> float:
        return 1.0 if int(action) == (self._sign > 0) else -1.0


class RecallTheSign(Probe):
    """Shows the sign in the first step alone, and pays 1 for naming it in the last, else -1."""

    length = 4

    def _observe(self) -> np.ndarray:
        return np.array([self._sign if self._steps == 0 else 0.0], np.float32)

    def pay(self, action: Any) -> float:
        if self._steps < self.length - 1:
            return 0.0
        return 1.0 if int(action) == (self._sign > 0) else -1.0


class ReachTheSign(Probe):
    """Pays the less, the farther a continuous action is from half the observation."""

    def __init__(self) -> None:
        super().__init__(spaces.Box(-1.0, 1.0, (1,), np.float32))

    def pay(self, action: Any) -> float:
        return -float((np.asarray(action).item() - 0.5 * self._sign) ** 2)
