"""Observations and rewards brought to one scale while training runs.

Observations are centred and divided by their standard deviation so far, rewards divided by the
standard deviation of the discounted return so far: the quantities of Gymnasium's
NormalizeObservation and NormalizeReward, but with one set of statistics for all environments of
the batch instead of one for each. Both are clipped to +-10, as CleanRL does. For pictures, which
a network scales itself, rewards alone are normalised.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.sight import Normalise
from cleanrl_worker.envs.vector import EnvBatch, Step

CLIP = 10.0
EPSILON = 1e-8
FIRST_COUNT = 1e-4  # weight of the mean 0 and variance 1 that stand before the first sample


class RunningMoments:
    """Mean and variance of all rows so far, merged batch by batch (Chan et al. 1979)."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.mean: Array = np.zeros(shape, np.float64)
        self.var: Array = np.ones(shape, np.float64)
        self.count = FIRST_COUNT

    def update(self, rows: Array) -> None:
        """Take in a batch of float64 rows."""
        added = len(rows)
        total = self.count + added
        if added == 1:
            delta = rows[0] - self.mean
            squares = self.var * self.count
        else:
            batch_mean = np.add.reduce(rows, 0) / added
            delta = batch_mean - self.mean
            spread = rows - batch_mean
            squares = self.var * self.count + np.add.reduce(spread * spread, 0)
        self.mean = self.mean + delta * (added / total)
        self.var = (squares + delta * delta * (self.count * added / total)) / total
        self.count = total

    def state_dict(self, prefix: str) -> dict[str, Array]:
        return {
            f"{prefix}.mean": np.array(self.mean),
            f"{prefix}.var": np.array(self.var),
            f"{prefix}.count": np.array(self.count),
        }

    def load_state_dict(self, state: Mapping[str, Array], prefix: str) -> None:
        mean, var = state[f"{prefix}.mean"], state[f"{prefix}.var"]
        assert mean.shape == var.shape == self.mean.shape, f"{prefix} of another shape"
        self.mean, self.var = mean.astype(np.float64), var.astype(np.float64)
        self.count = float(state[f"{prefix}.count"])


class ScaledRewards:
    """A batch of environments whose rewards are divided by the spread of their discounted returns.

    `Episode.total_reward` stays the raw return. While `frozen`, as in an evaluation, the
    statistics stand still and rewards are left as they are.

    The discounted return of an environment starts anew where Gymnasium's does, in the step that
    terminates an episode, and also at `reset` and `rebuild`, so that what follows a clean cut
    depends on `state_dict` alone.
    """

    def __init__(self, envs: EnvBatch, *, gamma: float, frozen: bool = False) -> None:
        self._envs = envs
        self._gamma = gamma
        self.frozen = frozen
        self.num_envs = envs.num_envs
        self.action_space: gym.Space[Any] = envs.action_space
        self.max_episode_steps = envs.max_episode_steps
        self.observation_space: spaces.Box = envs.observation_space
        self._return_moments = RunningMoments(())
        self._returns = np.zeros(envs.num_envs, np.float64)

    def reset(self, seed: int) -> Array:
        self._returns = np.zeros(self.num_envs, np.float64)
        return self._envs.reset(seed)

    def step(self, actions: Array) -> Step:
        step = self._envs.step(actions)
        return step if self.frozen else step._replace(rewards=self._rewards(step))

    def rebuild(self) -> None:
        """Build the environments anew; the statistics stay."""
        self._envs.rebuild()
        self._returns = np.zeros(self.num_envs, np.float64)

    def close(self) -> None:
        self._envs.close()

    def state_dict(self) -> dict[str, Array]:
        """Return the statistics. The running returns are no part of them: a cut restarts those."""
        return self._return_moments.state_dict("return_rms")

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        self._return_moments.load_state_dict(state, "return_rms")

    def _rewards(self, step: Step) -> Array:
        self._returns *= self._gamma
        if step.obs is not step.next_obs:
            self._returns[step.terminated] = 0.0
        self._returns += step.rewards
        self._return_moments.update(self._returns)
        scale = 1.0 / math.sqrt(float(self._return_moments.var) + EPSILON)
        return _clipped(step.rewards * np.float32(scale))


class NormalisedEnvs(ScaledRewards):
    """A batch of environments whose observations are normalised as well."""

    def __init__(self, envs: EnvBatch, *, gamma: float, frozen: bool = False) -> None:
        super().__init__(envs, gamma=gamma, frozen=frozen)
        shape = envs.observation_space.shape
        self.observation_space = spaces.Box(-CLIP, CLIP, shape, np.float32)
        self._obs_moments = RunningMoments(shape)

    def reset(self, seed: int) -> Array:
        return self._observations(super().reset(seed))

    def step(self, actions: Array) -> Step:
        step = super().step(actions)
        next_obs = self._observations(step.next_obs)
        obs = next_obs
        if step.obs is not step.next_obs:
            # First observations count too, but after the last ones: in the order they were made.
            ended = (step.terminated | step.truncated).nonzero()[0]
            obs = next_obs.copy()
            obs[ended] = self._observations(step.obs[ended])
        return step._replace(obs=obs, next_obs=next_obs)

    def state_dict(self) -> dict[str, Array]:
        return {**self._obs_moments.state_dict("obs_rms"), **super().state_dict()}

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        self._obs_moments.load_state_dict(state, "obs_rms")
        super().load_state_dict(state)

    def _observations(self, raw: Array) -> Array:
        moments = self._obs_moments
        rows = raw.astype(np.float64)
        if not self.frozen:
            moments.update(rows)
        rows -= moments.mean
        rows /= np.sqrt(moments.var + EPSILON)
        return _clipped(rows).astype(np.float32)


def normalised(
    envs: EnvBatch, what: Normalise, *, gamma: float, frozen: bool = False
) -> ScaledRewards:
    """Return the batch at one scale: its rewards, or its observations too."""
    wrapper = NormalisedEnvs if what == "all" else ScaledRewards
    return wrapper(envs, gamma=gamma, frozen=frozen)


def _clipped(values: Array) -> Array:
    """Clip in place; two ufuncs cost a third of np.clip."""
    np.minimum(values, CLIP, out=values)
    np.maximum(values, -CLIP, out=values)
    return values
