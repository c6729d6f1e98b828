"""Observations as plain arrays: whatever the environment's space is, networks see one Box."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from mosaic.contracts.errors import ConfigError

Array = np.ndarray[Any, Any]


class ObservationEncoder:
    """Writes an observation into a row of an array.

    Box observations keep their shape; integers keep their type, everything else is float32.
    Discrete, MultiDiscrete, MultiBinary and compositions of them become one-hot vectors.
    """

    def __init__(self, space: gym.Space[Any], env_id: str) -> None:
        self._source = space
        self.space = _encoded_space(space, env_id)
        dtype = self.space.dtype
        assert dtype is not None
        self.dtype: np.dtype[Any] = dtype

    def allocate(self, rows: int) -> Array:
        return np.zeros((rows, *self.space.shape), self.dtype)

    def write(self, row: Array, observation: Any) -> None:
        source = self._source
        if isinstance(source, spaces.Box):
            row[...] = observation
        elif isinstance(source, spaces.Discrete):
            row.fill(0)
            row[int(observation) - int(source.start)] = 1
        else:
            row[...] = spaces.flatten(source, observation)


def _encoded_space(space: gym.Space[Any], env_id: str) -> spaces.Box:
    if isinstance(space, spaces.Box):
        if space.dtype == np.uint8 or space.dtype == np.float32:
            return space
        return spaces.Box(-np.inf, np.inf, space.shape, np.float32)
    try:
        size = spaces.flatdim(space)
    except (NotImplementedError, ValueError):
        raise ConfigError(
            f"env_id={env_id!r} has the observation space {space}, which no network here reads."
        ) from None
    return spaces.Box(0.0, 1.0, (size,), np.float32)
