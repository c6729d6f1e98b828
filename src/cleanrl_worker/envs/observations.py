"""Observations as plain arrays: whatever the environment's space is, networks see one Box."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from mosaic.contracts.errors import ConfigError

Array = np.ndarray[Any, Any]
Encode = Callable[[Any], Any]

MINIGRID_KEYS = {"image", "direction", "mission"}


class ObservationEncoder:
    """Turns an observation into what fits a row of an array.

    | space                      | becomes                                                      |
    |----------------------------|--------------------------------------------------------------|
    | Box of bytes               | itself                                                       |
    | any other Box              | the same shape in float32                                    |
    | Discrete                   | a one-hot vector, whatever number the space starts at        |
    | MultiDiscrete, MultiBinary | one-hot vectors side by side; the bits                       |
    | Tuple, Dict                | their parts as above, flattened, side by side                |
    | MiniGrid's and BabyAI's    | the image of 7x7x3 bytes alone, as CleanRL's users have it   |
    | Dict                       | with ImgObsWrapper; direction and mission are not seen       |
    """

    def __init__(self, space: gym.Space[Any], env_id: str) -> None:
        self.space, self.encode = _encoding(space, env_id)
        dtype = self.space.dtype
        assert dtype is not None
        self.dtype: np.dtype[Any] = dtype

    def allocate(self, rows: int) -> Array:
        return np.empty((rows, *self.space.shape), self.dtype)


def is_minigrid(space: gym.Space[Any]) -> bool:
    """Say whether it is the Dict of an image, a direction and a mission in words."""
    return isinstance(space, spaces.Dict) and set(space.spaces) == MINIGRID_KEYS


def _encoding(space: gym.Space[Any], env_id: str) -> tuple[spaces.Box, Encode]:
    if isinstance(space, spaces.Box):
        return _float32_unless_bytes(space), _as_it_is
    if isinstance(space, spaces.Dict) and is_minigrid(space):
        image = space.spaces["image"]
        assert isinstance(image, spaces.Box)
        return _float32_unless_bytes(image), _image_of
    if not space.is_np_flattenable:
        raise ConfigError(
            f"env_id={env_id!r} has the observation space {space}, which no network here reads.",
            hint="Use an environment with Box, Discrete, MultiDiscrete, MultiBinary, Tuple or Dict "
            "observations of fixed size, or wrap it so that it has them.",
        )
    flat = spaces.flatten_space(space)
    assert isinstance(flat, spaces.Box)
    if isinstance(space, spaces.Discrete):
        return _float32_unless_bytes(flat), _one_hot(space)
    return _float32_unless_bytes(flat), lambda observation: spaces.flatten(space, observation)


def _float32_unless_bytes(space: spaces.Box) -> spaces.Box:
    if space.dtype in (np.uint8, np.float32):
        return space
    with np.errstate(over="ignore"):  # bounds beyond float32 are no bounds
        low, high = space.low.astype(np.float32), space.high.astype(np.float32)
    return spaces.Box(low, high, space.shape, np.float32)


def _as_it_is(observation: Any) -> Any:
    return observation


def _image_of(observation: Mapping[str, Any]) -> Any:
    return observation["image"]


def _one_hot(space: spaces.Discrete) -> Encode:
    rows = np.eye(int(space.n), dtype=np.float32)
    start = int(space.start)
    return lambda observation: rows[int(observation) - start]


def row_bytes(space: gym.Space[Any]) -> int:
    """Return what one element of an array space takes in memory."""
    return math.prod(space.shape or ()) * np.dtype(space.dtype).itemsize
