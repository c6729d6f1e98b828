"""Exploration inside a program: random actions instead of, or on top of, the best ones."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def epsilon_greedy(values: jax.Array, epsilon: jax.Array, key: jax.Array) -> jax.Array:
    """Return for each row of values, with probability epsilon, a random action, else the best."""
    count, actions = values.shape
    explore_key, action_key = jax.random.split(key)
    explores = jax.random.uniform(explore_key, (count,)) < epsilon
    random_actions = jax.random.randint(action_key, (count,), 0, actions)
    return jnp.where(explores, random_actions, values.argmax(-1))
