"""Exploration: random actions instead of, or on top of, the best ones."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from cleanrl_worker.agents.inference import Infer
from cleanrl_worker.envs.observations import Array
from cleanrl_worker.policies import Policy

EVALUATION_EPSILON = 0.05  # what a sampled evaluation explores with, as CleanRL's does


def epsilon_greedy(values: Array, epsilon: float, rng: np.random.Generator) -> Array:
    """Return for each row of values, with probability epsilon, a random action, else the best."""
    count, actions = values.shape
    chosen: Array = values.argmax(-1)
    (explorers,) = (rng.random(count) < epsilon).nonzero()
    if len(explorers):  # in most steps of most runs there is none
        chosen[explorers] = rng.integers(0, actions, len(explorers))
    return chosen


def value_policy(q_values: Infer) -> Policy:
    """Return the greedy policy of action values; with a generator it explores a little."""

    def choose(obs: Array, rng: np.random.Generator | None) -> Array:
        values = q_values(obs)
        if rng is not None:
            return epsilon_greedy(values, EVALUATION_EPSILON, rng)
        best: Array = values.argmax(-1)
        return best

    return choose


def uniform_actions(space: gym.spaces.Box, count: int, rng: np.random.Generator) -> Array:
    """Return actions drawn uniformly from a bounded space."""
    return rng.uniform(space.low, space.high, (count, *space.shape)).astype(np.float32)


def add_noise(
    actions: Array, space: gym.spaces.Box, share: float, rng: np.random.Generator
) -> Array:
    """Add Gaussian noise whose standard deviation is a share of half the space, within bounds."""
    rows = actions.reshape(len(actions), *space.shape)
    scale = share * (space.high - space.low) / 2
    noisy: Array = rows + scale * rng.standard_normal(rows.shape, np.float32)
    return np.clip(noisy, space.low, space.high).astype(np.float32)
