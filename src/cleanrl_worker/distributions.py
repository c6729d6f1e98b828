"""Action distributions: what a row of an actor's outputs means.

Sampling is split in two, so that a rollout's random numbers are drawn in one call: `noise` draws,
`sample` turns outputs and noise into actions.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from cleanrl_worker.envs.observations import Array

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class Distribution(Protocol):
    """A family of distributions over one action space."""

    action_shape: tuple[int, ...]
    action_dtype: np.dtype[Any]
    outputs: int

    def noise(self, rng: np.random.Generator, *shape: int) -> Array: ...

    def sample(self, outputs: Array, noise: Array) -> Array: ...

    def mode(self, outputs: Array) -> Array: ...

    def log_prob(self, outputs: Tensor, actions: Tensor) -> Tensor: ...

    def log_prob_and_entropy(self, outputs: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]: ...


class Categorical:
    """Outputs are logits."""

    action_shape: tuple[int, ...] = ()
    action_dtype: np.dtype[Any] = np.dtype(np.int64)

    def __init__(self, space: gym.spaces.Discrete) -> None:
        self.outputs = int(space.n)

    def noise(self, rng: np.random.Generator, *shape: int) -> Array:
        return np.asarray(rng.gumbel(size=(*shape, self.outputs)), np.float32)

    def sample(self, outputs: Array, noise: Array) -> Array:
        """Sample by the Gumbel-max trick: one argmax."""
        return self.mode(outputs + noise)

    def mode(self, outputs: Array) -> Array:
        actions: Array = outputs.argmax(-1)
        return actions

    def log_prob(self, outputs: Tensor, actions: Tensor) -> Tensor:
        return log_softmax(outputs, -1).gather(1, actions[:, None]).squeeze(1)

    def log_prob_and_entropy(self, outputs: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        log_probs = log_softmax(outputs, -1)
        entropy = -(log_probs.exp() * log_probs).sum(-1)
        return log_probs.gather(1, actions[:, None]).squeeze(1), entropy


class Branches:
    """Outputs are the logits of one choice after the other; the choices are independent."""

    action_dtype: np.dtype[Any] = np.dtype(np.int64)

    def __init__(self, space: gym.spaces.MultiDiscrete) -> None:
        self.sizes = [int(size) for size in space.nvec.flatten()]
        self.action_shape: tuple[int, ...] = (len(self.sizes),)
        self.outputs = sum(self.sizes)
        self._starts = np.cumsum(self.sizes)[:-1]

    def noise(self, rng: np.random.Generator, *shape: int) -> Array:
        return np.asarray(rng.gumbel(size=(*shape, self.outputs)), np.float32)

    def sample(self, outputs: Array, noise: Array) -> Array:
        return self.mode(outputs + noise)

    def mode(self, outputs: Array) -> Array:
        choices = np.split(outputs, self._starts, axis=-1)
        return np.stack([choice.argmax(-1) for choice in choices], -1)

    def log_prob(self, outputs: Tensor, actions: Tensor) -> Tensor:
        return self.log_prob_and_entropy(outputs, actions)[0]

    def log_prob_and_entropy(self, outputs: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        chosen, entropies = [], []
        for number, logits in enumerate(outputs.split(self.sizes, -1)):
            log_probs = log_softmax(logits, -1)
            chosen.append(log_probs.gather(1, actions[:, number, None]).squeeze(1))
            entropies.append(-(log_probs.exp() * log_probs).sum(-1))
        return torch.stack(chosen).sum(0), torch.stack(entropies).sum(0)


class DiagonalGaussian:
    """Outputs are the means, then the log standard deviations."""

    action_dtype: np.dtype[Any] = np.dtype(np.float32)

    def __init__(self, space: gym.spaces.Box) -> None:
        self._size = math.prod(space.shape)
        self.action_shape: tuple[int, ...] = (self._size,)
        self.outputs = 2 * self._size

    def noise(self, rng: np.random.Generator, *shape: int) -> Array:
        return rng.standard_normal((*shape, self._size), np.float32)

    def sample(self, outputs: Array, noise: Array) -> Array:
        means, log_stds = outputs[:, : self._size], outputs[:, self._size :]
        actions: Array = means + np.exp(log_stds) * noise
        return actions

    def mode(self, outputs: Array) -> Array:
        return outputs[:, : self._size]

    def log_prob(self, outputs: Tensor, actions: Tensor) -> Tensor:
        means, log_stds = outputs[:, : self._size], outputs[:, self._size :]
        z = (actions - means) * torch.exp(-log_stds)
        return -(0.5 * z.square() + log_stds + _HALF_LOG_2PI).sum(-1)

    def log_prob_and_entropy(self, outputs: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        log_stds = outputs[:, self._size :]
        entropy = (0.5 + _HALF_LOG_2PI + log_stds).sum(-1)
        return self.log_prob(outputs, actions), entropy


def perturb_means(outputs: Tensor, half_width: float) -> Tensor:
    """Add uniform noise to the means in a Gaussian's outputs."""
    size = outputs.shape[-1] // 2
    noise = torch.empty_like(outputs[:, :size]).uniform_(-half_width, half_width)
    return torch.cat((outputs[:, :size] + noise, outputs[:, size:]), -1)


def distribution_for(space: gym.Space[object]) -> Distribution:
    if isinstance(space, gym.spaces.Discrete):
        return Categorical(space)
    if isinstance(space, gym.spaces.MultiDiscrete):
        return Branches(space)
    assert isinstance(space, gym.spaces.Box), space
    return DiagonalGaussian(space)
