"""The replay buffer for stacked pictures: each is stored once, stacks are built on sampling.

A million pictures of 84x84 take 7.1 GB; as whole stacks they would take 28, or 56 with the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from cleanrl_worker.envs.observations import Array, row_bytes
from cleanrl_worker.envs.vector import Step
from cleanrl_worker.replay.archive import ReplayArchive
from cleanrl_worker.replay.buffer import Transitions
from cleanrl_worker.replay.episodes import EpisodeStarts, goes_on
from mosaic.contracts.errors import ConfigError


class FrameReplay:
    """The newest `capacity` transitions, of which each row holds only the newest picture.

    Row r, counted from the first ever added, lies at r % capacity. Environments take turns, so
    that the row before it in its episode is r - num_envs. That distance is in the column
    `distances`, and 0 for the first row of an episode, whose stack is one picture repeated. No
    stack reaches back beyond that, or beyond the oldest row that is held.

    The next picture is that of row r + num_envs. After a termination it does not matter. The last
    picture before a truncation or a cut is in no row: that transition is given out while it is the
    newest, and not any more afterwards. In Atari that is one step of up to 27,000. So it is for
    rows that were saved by a run with another num_envs, but those that ended.
    """

    def __init__(
        self,
        capacity: int,
        observation_space: gym.spaces.Box,
        action_space: gym.Space[Any],
        num_envs: int,
    ) -> None:
        self._stack, *picture = observation_space.shape
        self.num_envs = num_envs
        self.reach = self._stack - 1
        self.columns: Mapping[str, Array] = {
            "frames": np.zeros((capacity, *picture), observation_space.dtype),
            "actions": np.zeros((capacity, *(action_space.shape or ())), action_space.dtype),
            "rewards": np.zeros(capacity, np.float32),
            "ends": np.zeros(capacity, np.float32),
            "distances": np.zeros(capacity, np.int32),
        }
        self.capacity = capacity
        self.total = 0  # transitions ever added
        self._first = 0  # the first row that is given out
        self.archive: ReplayArchive | None = None
        self._starts = EpisodeStarts(num_envs)
        self._last_frames: Array | None = None

    @staticmethod
    def size_bytes(
        capacity: int,
        observation_space: gym.spaces.Box,
        action_space: gym.Space[Any],
        num_envs: int,
    ) -> int:
        """Return the memory that a buffer of this capacity takes; refuse one without a stack."""
        stack = observation_space.shape[0]
        if capacity < stack * num_envs:
            raise ConfigError(
                f"buffer_size={capacity} holds no stack of {stack} pictures for each of "
                f"num_envs={num_envs}. Use at least {stack * num_envs}."
            )
        picture = row_bytes(observation_space) // stack
        return capacity * (picture + row_bytes(action_space) + 12)

    def __len__(self) -> int:
        return min(self.total, self.capacity)

    def add(self, obs: Array, actions: Array, step: Step) -> None:
        """Add one transition of every environment; `obs` is what the last step returned."""
        starts = self._starts.find(obs, step)
        if starts.any():
            _check_repeated(obs[starts])
        rows = np.arange(self.total, self.total + self.num_envs) % self.capacity
        columns = self.columns
        columns["frames"][rows] = obs[:, -1]
        columns["actions"][rows] = actions
        columns["rewards"][rows] = step.rewards
        columns["ends"][rows] = step.terminated
        columns["distances"][rows] = np.where(starts, 0, self.num_envs)
        self.total += self.num_envs
        self._last_frames = step.next_obs[:, -1]
        if self.archive is not None:
            self.archive.advance(self.total)

    def seal(self) -> None:
        """Say that nothing goes on from the newest rows: those that did not end stay unused.

        So they are after a resume, too, where their next picture is gone.
        """
        self._last_frames = None

    def forget_before(self, row: int) -> None:
        """Give out only rows from this one on, counted from the first ever added."""
        self._first = row

    def sample(self, rng: np.random.Generator, size: int, device: torch.device) -> Transitions:
        return Transitions.of(self.draw(rng, size), device)

    def draw(self, rng: np.random.Generator, size: int) -> dict[str, Array]:
        """Draw transitions uniformly from those that can be built.

        The newest always can, unless they are sealed: then some episode must hold two rows.
        """
        oldest = self._oldest()
        rows = rng.integers(oldest, self.total, size)
        history, is_held = self._look_back(rows)
        while not (is_whole := is_held & self.has_next(rows)).all():
            again = ~is_whole
            rows[again] = rng.integers(oldest, self.total, int(again.sum()))
            history, is_held = self._look_back(rows)
        frames = self._pictures(rows, history)
        index = rows % self.capacity
        taken = {name: self.columns[name][index] for name in ("actions", "rewards", "ends")}
        return {"obs": frames[:, :-1], "next_obs": frames[:, 1:], **taken}

    def _oldest(self) -> int:
        return max(self.total - len(self), self._first)

    def has_next(self, rows: Array) -> Array:
        """Say which rows' next observations can be built, or do not matter."""
        terminated = self.columns["ends"][rows % self.capacity] > 0
        is_newest = rows + self.num_envs >= self.total
        is_followed = np.where(is_newest, self._last_frames is not None, goes_on(self, rows))
        has_next: Array = is_followed | terminated
        return has_next

    def observations(self, rows: Array) -> Array:
        """Return the stacks of rows, all of whose pictures must be held."""
        history, _ = self._look_back(rows)
        stacks: Array = self.columns["frames"][history % self.capacity]
        return stacks

    def next_observations(self, rows: Array) -> Array:
        """Return the stacks after rows that are not the newest; after a termination any stack."""
        return self.observations(np.where(goes_on(self, rows), rows + self.num_envs, rows))

    def _look_back(self, rows: Array) -> tuple[Array, Array]:
        """Return the rows of each one's stack, oldest first, and whether all of them are held."""
        distances, oldest = self.columns["distances"], self._oldest()
        history = np.empty((len(rows), self._stack), np.int64)
        history[:, -1] = rows
        is_held = np.ones(len(rows), np.bool_)
        for place in range(self._stack - 1, 0, -1):
            newer = history[:, place]
            older = newer - distances[newer % self.capacity]
            is_held &= older >= oldest
            history[:, place - 1] = older
        return history, is_held

    def _pictures(self, rows: Array, history: Array) -> Array:
        """Return the pictures of each stack and the one after it."""
        following = rows + self.num_envs
        is_newest = following >= self.total
        picked = np.column_stack((history, np.where(is_newest, rows, following)))
        frames: Array = self.columns["frames"][picked % self.capacity]
        if self._last_frames is not None:
            frames[is_newest, -1] = self._last_frames[following[is_newest] - self.total]
        return frames


def _check_repeated(first: Array) -> None:
    """Refuse observations that are no stacks: those would be put together wrongly."""
    if (first != first[:, -1:]).any():
        raise ConfigError(
            "The first observation of an episode is not one picture repeated, as the replay buffer "
            "for stacked pictures needs it."
        )
