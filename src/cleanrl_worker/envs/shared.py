"""Arrays that this process and its environment processes share."""

from __future__ import annotations

import mmap
import os
import tempfile

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from cleanrl_worker.envs.observations import Array


class SharedArrays:
    """The actions of a step, and what it gave, one row for each environment.

    Made twice of the same spaces, here and in another process, on one open file.
    """

    def __init__(
        self,
        descriptor: int,
        num_envs: int,
        observation_space: spaces.Box,
        action_space: gym.Space[object],
    ) -> None:
        assert action_space.shape is not None
        assert action_space.dtype is not None
        observation = (num_envs, *observation_space.shape), observation_space.dtype
        one = (num_envs,)
        self._layout = [
            ((num_envs, *action_space.shape), action_space.dtype),
            observation,
            observation,
            (one, np.dtype(np.float32)),
            (one, np.dtype(np.bool_)),
            (one, np.dtype(np.bool_)),
            (one, np.dtype(np.float64)),
            (one, np.dtype(np.int64)),
        ]
        size = sum(_padded_bytes(shape, dtype) for shape, dtype in self._layout)
        if os.fstat(descriptor).st_size < size:
            os.ftruncate(descriptor, size)
        self._memory = mmap.mmap(descriptor, size)
        (
            self.actions,
            self.obs,
            self.next_obs,
            self.rewards,
            self.terminated,
            self.truncated,
            self.totals,
            self.lengths,
        ) = self._arrays()

    def _arrays(self) -> list[Array]:
        arrays: list[Array] = []
        offset = 0
        for shape, dtype in self._layout:
            arrays.append(np.ndarray(shape, dtype, self._memory, offset))
            offset += _padded_bytes(shape, dtype)
        return arrays


def _padded_bytes(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> int:
    """Return the bytes of an array, rounded up so that the next one starts on a cache line."""
    return -(-int(np.prod(shape)) * dtype.itemsize // 64) * 64


def open_memory() -> int:
    """Return the descriptor of a file that has no name and vanishes with its last process."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("mosaic-envs")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
