"""Generalised advantages inside a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def repeat(
    body: Callable[[Any, Any], tuple[Any, Any]], carry: Any, rows: Any, *, scan: bool
) -> tuple[Any, Any]:
    """Apply `body(carry, row)` to each row in turn: one loop of the program, or unrolled.

    Unrolled it may also be called from Python, with a body that is a program of its own.
    """
    if scan:
        return jax.lax.scan(body, carry, rows)
    outputs = []
    for index in range(len(jax.tree.leaves(rows)[0])):
        carry, output = body(carry, jax.tree.map(lambda leaf, i=index: leaf[i], rows))
        outputs.append(output)
    return carry, jax.tree.map(lambda *leaves: jnp.stack(leaves), *outputs)


def generalised_advantages(
    rewards: jax.Array,
    values: jax.Array,
    ends: jax.Array,
    last_values: jax.Array,
    *,
    gamma: float,
    gae_lambda: float,
    scan: bool,
) -> jax.Array:
    """Return GAE(lambda) advantages of [step, environment] (Schulman et al. 2016, eq. 16).

    `ends[t]` says that the episode ended with step t, for whatever reason: the sum stops there.
    A truncated episode's bootstrap, gamma * V(last observation), is already in its last reward.
    """
    goes_on = 1.0 - ends.astype(jnp.float32)
    next_values = jnp.concatenate((values[1:], last_values[None]))
    deltas = rewards + gamma * next_values * goes_on - values

    def back(running: jax.Array, row: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        delta, goes = row
        running = delta + gamma * gae_lambda * goes * running
        return running, running

    rows = (deltas[::-1], goes_on[::-1])
    advantages: jax.Array
    _, advantages = repeat(back, jnp.zeros_like(last_values), rows, scan=scan)
    return advantages[::-1]
