"""Replay rows that know their episodes, so that several steps can be put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.vector import Step
from cleanrl_worker.replay.archive import ReplayArchive
from cleanrl_worker.replay.buffer import ReplayBuffer


class EpisodeRows(Protocol):
    """The newest `capacity` transitions; row r, counted from the first, lies at r % capacity.

    Environments take turns: the step after row r is row r + num_envs, if the episode goes on. The
    column `distances` holds how far back the row before is, and 0 for the first of an episode.
    An observation is made of as many as `reach` rows before its own.
    """

    columns: Mapping[str, Array]
    total: int
    capacity: int
    archive: ReplayArchive | None
    num_envs: int
    reach: int

    def __len__(self) -> int: ...

    def add(self, obs: Array, actions: Array, step: Step) -> None: ...

    def has_next(self, rows: Array) -> Array: ...

    def observations(self, rows: Array) -> Array: ...

    def next_observations(self, rows: Array) -> Array: ...


def goes_on(store: EpisodeRows, rows: Array) -> Array:
    """Say which rows are followed by another of their episode; of the newest nobody knows."""
    following = rows + store.num_envs
    is_next = store.columns["distances"][following % store.capacity] == store.num_envs
    goes_on: Array = is_next & (following < store.total)
    return goes_on


class EpisodeStarts:
    """Which environments begin an episode, by the observations that are acted on."""

    def __init__(self, num_envs: int) -> None:
        self._expected: Array | None = None  # the observations that go on from the last step
        self._starts: Array = np.ones(num_envs, np.bool_)

    def find(self, obs: Array, step: Step) -> Array:
        """Return who begins an episode with `obs`, and remember what comes after the step.

        Those that go on are the very array that the last step returned. Any other one, as after a
        cut, begins new episodes.
        """
        starts = self._starts if obs is self._expected else np.ones_like(self._starts)
        self._expected, self._starts = step.obs, step.terminated | step.truncated
        return starts


class EpisodeReplay(ReplayBuffer):
    """The replay buffer of whole observations, whose rows know their episodes."""

    reach = 0

    def __init__(
        self,
        capacity: int,
        observation_space: gym.spaces.Box,
        action_space: gym.Space[Any],
        num_envs: int,
    ) -> None:
        super().__init__(capacity, observation_space, action_space)
        self.columns = {**self.columns, "distances": np.zeros(capacity, np.int32)}
        self.num_envs = num_envs
        self._starts = EpisodeStarts(num_envs)

    @staticmethod
    def size_bytes(
        capacity: int, observation_space: gym.spaces.Box, action_space: gym.Space[Any]
    ) -> int:
        """Return the memory that a buffer of this capacity takes."""
        return ReplayBuffer.size_bytes(capacity, observation_space, action_space) + 4 * capacity

    def add(self, obs: Array, actions: Array, step: Step) -> None:
        """Add one transition of every environment; `obs` is what the last step returned."""
        rows = np.arange(self.total, self.total + self.num_envs) % self.capacity
        starts = self._starts.find(obs, step)
        self.columns["distances"][rows] = np.where(starts, 0, self.num_envs)
        super().add(obs, actions, step)

    def has_next(self, rows: Array) -> Array:
        return np.ones(len(rows), np.bool_)

    def observations(self, rows: Array) -> Array:
        column: Array = self.columns["obs"][rows % self.capacity]
        return column

    def next_observations(self, rows: Array) -> Array:
        column: Array = self.columns["next_obs"][rows % self.capacity]
        return column
