"""Return estimators over rollouts stored as arrays of [step, environment]."""

from __future__ import annotations

import math

import numpy as np
from torch import Tensor

from cleanrl_worker.envs.observations import Array


def generalised_advantages(
    rewards: Array,
    values: Array,
    ends: Array,
    last_values: Array,
    *,
    gamma: float,
    gae_lambda: float,
) -> Array:
    """Return GAE(lambda) advantages (Schulman et al. 2016, eq. 16).

    `ends[t]` says that the episode ended with step t, for whatever reason: the sum stops there.
    A truncated episode's bootstrap, gamma * V(last observation), is already in its last reward.
    """
    steps = len(rewards)
    goes_on = 1.0 - ends.astype(np.float32)
    next_values = np.concatenate((values[1:], last_values[None]))
    deltas = rewards + gamma * next_values * goes_on - values
    advantages = np.empty_like(values)
    running = np.zeros_like(last_values)
    decay = gamma * gae_lambda * goes_on
    for t in range(steps - 1, -1, -1):
        running = deltas[t] + decay[t] * running
        advantages[t] = running
    return advantages


def explained_variance(values: Tensor, returns: Tensor) -> float:
    """Return 1 - Var(returns - values) / Var(returns); NaN where the returns do not vary."""
    variance = float(returns.var())
    return 1.0 - float((returns - values).var()) / variance if variance > 0 else math.nan
