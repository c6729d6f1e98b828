"""Return estimators over rollouts stored as arrays of [step, environment]."""

from __future__ import annotations

import math

import numpy as np
import torch
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


def project_onto_atoms(probabilities: Tensor, returns: Tensor, atoms: Tensor) -> Tensor:
    """Return distributions over the atoms in place of distributions over arbitrary returns.

    Each probability is shared between the two atoms around its return, the nearer one taking the
    larger share (Bellemare et al. 2017, algorithm 1). Returns beyond the atoms go to the outermost.
    """
    spacing = atoms[1] - atoms[0]
    position = (returns.clamp(atoms[0], atoms[-1]) - atoms[0]) / spacing
    below = position.floor().clamp(0, len(atoms) - 1)
    share_above = position - below
    above = (below + 1).clamp(max=len(atoms) - 1)
    projected = torch.zeros_like(probabilities)
    projected.scatter_add_(1, below.long(), probabilities * (1 - share_above))
    return projected.scatter_add_(1, above.long(), probabilities * share_above)


def q_lambda_returns(
    rewards: Array,
    next_values: Array,
    ends: Array,
    *,
    gamma: float,
    q_lambda: float,
) -> Array:
    """Return Peng's Q(lambda) targets: `next_values[t]` is the best value after step t.

    `ends[t]` says that the episode ended with step t; a truncation's bootstrap is in its reward.
    """
    goes_on = gamma * (1.0 - ends.astype(np.float32))
    targets = np.empty_like(rewards)
    following = next_values[-1]
    for t in range(len(rewards) - 1, -1, -1):
        mixed = q_lambda * following + (1.0 - q_lambda) * next_values[t]
        targets[t] = rewards[t] + goes_on[t] * mixed
        following = targets[t]
    return targets
