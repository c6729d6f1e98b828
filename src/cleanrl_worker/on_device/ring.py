"""The replay buffer on the device: a ring of transitions, written and sampled inside a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Samples(NamedTuple):
    """Transitions, one row each. `ends` is 1 where the episode terminated.

    A truncated or cut episode is none of these: its `next_obs` is bootstrapped from.
    """

    obs: jax.Array
    actions: jax.Array
    rewards: jax.Array
    next_obs: jax.Array
    ends: jax.Array


def allocate(capacity: int, obs: jax.Array, actions: jax.Array) -> Samples:
    """Return an empty ring for such batches of observations and actions."""
    return Samples(
        obs=jnp.zeros((capacity, *obs.shape[1:]), obs.dtype),
        actions=jnp.zeros((capacity, *actions.shape[1:]), actions.dtype),
        rewards=jnp.zeros(capacity),
        next_obs=jnp.zeros((capacity, *obs.shape[1:]), obs.dtype),
        ends=jnp.zeros(capacity),
    )


def add(ring: Samples, rows: Samples, total: jax.Array) -> Samples:
    """Write rows behind the `total` that were ever added."""
    capacity, count = len(ring.rewards), len(rows.rewards)
    first = total % capacity
    if capacity % count == 0:  # they never wrap, and one slice is written
        return _each(
            lambda column, new: jax.lax.dynamic_update_slice_in_dim(column, new, first, 0),
            ring,
            rows,
        )
    places = (first + jnp.arange(count)) % capacity
    return _each(lambda column, new: column.at[places].set(new), ring, rows)


def sample(ring: Samples, total: jax.Array, size: int, key: jax.Array) -> Samples:
    """Draw rows uniformly from those that are held."""
    held = jnp.minimum(total, len(ring.rewards))
    places = jax.random.randint(key, (size,), 0, held)
    return _each(lambda column: column[places], ring)


def _each(change: Callable[..., jax.Array], *columns: Samples) -> Samples:
    return Samples(*(change(*same) for same in zip(*columns, strict=True)))


def samples_of(arrays: Mapping[str, Any]) -> Samples:
    """Return what a buffer on the host has drawn, as a program takes it."""
    return Samples(**arrays)
