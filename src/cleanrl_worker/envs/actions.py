"""Actions as environments want them: within bounds, in the space's shape, type and numbering."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from cleanrl_worker.envs.observations import Array

Decode = Callable[[Array], Iterable[Any]]


def action_decoder(space: gym.Space[Any]) -> Decode:
    """Return a function from a batch of actions to one action for each environment."""
    if isinstance(space, spaces.Discrete):
        return _discrete(int(space.start))
    if isinstance(space, spaces.Box):
        return box_clipper(space)
    return list


def box_clipper(space: spaces.Box) -> Callable[[Array], Array]:
    """Return a function that brings a batch of Box actions into the space."""
    low, high, shape, dtype = space.low, space.high, space.shape, space.dtype

    def clip(actions: Array) -> Array:
        rows = actions.reshape(len(actions), *shape)
        # Two ufuncs cost a third of np.clip, which matters for a batch of one.
        clipped: Array = np.maximum(np.minimum(rows, high), low)
        return clipped.astype(dtype, copy=False)

    return clip


def _discrete(start: int) -> Decode:
    def decode(actions: Array) -> list[int]:
        numbered: list[int] = (actions + start if start else actions).tolist()
        return numbered

    return decode
