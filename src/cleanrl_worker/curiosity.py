"""The scales of curiosity: of what is seen, and of the reward for seeing something new."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cleanrl_worker.envs.normalise import EPSILON, RunningMoments
from cleanrl_worker.envs.observations import Array


class CuriosityScales:
    """Moments of all that was seen, and of the discounted intrinsic returns so far.

    Intrinsic rewards are divided by the standard deviation of their discounted sum, and not
    centred: something new is never a punishment. That sum goes on from step to step of an
    environment, across the ends of episodes, as intrinsic returns do.
    """

    def __init__(self, shape: tuple[int, ...], num_envs: int, gamma: float) -> None:
        self._seen = RunningMoments(shape)
        self._returns = RunningMoments(())
        self._running = np.zeros(num_envs, np.float64)
        self._gamma = gamma

    def look(self, seen: Array) -> None:
        """Take in what was seen, a row an environment."""
        self._seen.update(seen.astype(np.float64))

    def of_seen(self) -> tuple[Array, Array]:
        """Return mean and standard deviation of what was seen."""
        return self._seen.mean, np.sqrt(self._seen.var + EPSILON)

    def normalised(self, rewards: Array) -> Array:
        """Take in a rollout's rewards, [step, environment], and return them at one scale."""
        sums = np.empty(rewards.shape, np.float64)
        for t, row in enumerate(rewards):
            self._running = self._gamma * self._running + row
            sums[t] = self._running
        self._returns.update(sums.reshape(-1))
        return (rewards / np.sqrt(self._returns.var + EPSILON)).astype(np.float32)

    def state_dict(self) -> dict[str, Array]:
        return {
            **self._seen.state_dict("seen_rms"),
            **self._returns.state_dict("return_rms"),
            "running_returns": self._running,
        }

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        self._seen.load_state_dict(state, "seen_rms")
        self._returns.load_state_dict(state, "return_rms")
        running = np.asarray(state["running_returns"], np.float64)
        assert running.shape == self._running.shape, "another number of environments"
        self._running = running
