"""The replay buffer of transitions: preallocated, sampled uniformly, saved with checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from cleanrl_worker.envs.observations import Array, row_bytes
from cleanrl_worker.envs.vector import Step
from cleanrl_worker.replay.archive import ReplayArchive
from cleanrl_worker.replay.sending import to_tensors


@dataclass(frozen=True, slots=True)
class Transitions:
    """A batch of transitions, one row each. `ends` is 1 where the episode terminated.

    A truncated or cut episode is none of these: its `next_obs` is bootstrapped from.
    """

    obs: Tensor
    actions: Tensor
    rewards: Tensor
    next_obs: Tensor
    ends: Tensor

    @classmethod
    def of(cls, arrays: Mapping[str, Array], device: torch.device) -> Transitions:
        return cls(**to_tensors(arrays, device))


_NAMES = tuple(field.name for field in fields(Transitions))


class ReplayBuffer:
    """The newest `capacity` transitions in rings of arrays."""

    def __init__(
        self, capacity: int, observation_space: gym.spaces.Box, action_space: gym.Space[Any]
    ) -> None:
        obs_shape, obs_dtype = observation_space.shape, observation_space.dtype
        action_shape = action_space.shape or ()
        self.columns: Mapping[str, Array] = {
            "obs": np.zeros((capacity, *obs_shape), obs_dtype),
            "next_obs": np.zeros((capacity, *obs_shape), obs_dtype),
            "actions": np.zeros((capacity, *action_shape), action_space.dtype),
            "rewards": np.zeros(capacity, np.float32),
            "ends": np.zeros(capacity, np.float32),
        }
        self.capacity = capacity
        self.total = 0  # transitions ever added
        self.archive: ReplayArchive | None = None

    @staticmethod
    def size_bytes(
        capacity: int, observation_space: gym.spaces.Box, action_space: gym.Space[Any]
    ) -> int:
        """Return the memory that a buffer of this capacity takes."""
        return capacity * (2 * row_bytes(observation_space) + row_bytes(action_space) + 8)

    def __len__(self) -> int:
        return min(self.total, self.capacity)

    def add(self, obs: Array, actions: Array, step: Step) -> None:
        """Add one transition of every environment."""
        first = self.total % self.capacity
        rows: Any = slice(first, first + len(obs))  # cheaper than an index array
        if first + len(obs) > self.capacity:
            rows = np.arange(first, first + len(obs)) % self.capacity
        columns = self.columns
        columns["obs"][rows] = obs
        columns["next_obs"][rows] = step.next_obs
        columns["actions"][rows] = actions
        columns["rewards"][rows] = step.rewards
        columns["ends"][rows] = step.terminated
        self.total += len(obs)
        if self.archive is not None:
            self.archive.advance(self.total)

    def draw(self, rng: np.random.Generator, size: int) -> dict[str, Array]:
        """Draw transitions uniformly, as arrays by the names of `Transitions`."""
        # A fifth of what `integers` takes; the bias is that of a 53-bit fraction.
        rows = (rng.random(size) * len(self)).astype(np.intp)
        return {name: self.columns[name][rows] for name in _NAMES}

    def sample(self, rng: np.random.Generator, size: int, device: torch.device) -> Transitions:
        return Transitions.of(self.draw(rng, size), device)
