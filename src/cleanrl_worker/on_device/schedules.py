"""Schedules inside a program, where steps are arrays."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def falling(start: float, end: float, duration: float, step: jax.Array) -> jax.Array:
    """Return a value that goes linearly from start to end over the duration, and stays there."""
    return start + (end - start) * jnp.minimum(step / max(duration, 1.0), 1.0)


def times_due(every: int, before: jax.Array, after: jax.Array) -> jax.Array:
    """Return how many multiples of `every` lie beyond `before` and up to `after`."""
    return after // every - before // every
