"""Actions that come over the wire: what a space takes, said and checked."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from cleanrl_worker.envs.observations import Array
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.events import finite


def describe_space(space: gym.Space[Any]) -> dict[str, Any]:
    """Say what actions a space takes; those of a Discrete count from 0."""
    if isinstance(space, spaces.Discrete):
        return {"type": "Discrete", "n": int(space.n)}
    if isinstance(space, spaces.Box):
        low, high = finite(space.low.tolist()), finite(space.high.tolist())
        return {"type": "Box", "shape": list(space.shape), "low": low, "high": high}
    if isinstance(space, spaces.MultiDiscrete):
        return {"type": "MultiDiscrete", "nvec": space.nvec.tolist()}
    return {"type": type(space).__name__}


def read_action(space: gym.Space[Any], given: Any) -> Array:
    """Return the action as a batch of one; one that is not in the space is refused."""
    if isinstance(space, spaces.Discrete):
        if type(given) is not int or not 0 <= given < space.n:
            raise _refusal(given, f"a whole number from 0 to {int(space.n) - 1}")
        return np.array([given], np.int64)
    assert space.shape is not None
    try:
        action = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        action = np.empty(0)
    if action.shape != space.shape or not np.isfinite(action).all():
        raise _refusal(given, f"numbers in the shape {list(space.shape)}")
    if isinstance(space, spaces.Box):  # what lies beyond its bounds is clipped, as a policy's is
        return action[None].astype(space.dtype)
    whole = action.astype(np.int64)
    if (whole != action).any() or not space.contains(whole.astype(space.dtype)):
        raise _refusal(given, f"whole numbers of {space}")
    return whole[None]


def _refusal(given: Any, allowed: str) -> ConfigError:
    shown = repr(given)
    return ConfigError(f"action={shown[:80]} is not allowed: give {allowed}.")
