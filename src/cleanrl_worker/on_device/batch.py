"""Many environments stepped together on the device, with the meaning of "done" of `envs.vector`.

An environment that ends is reset in the same step; `next_obs` is what the action led to.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from cleanrl_worker.on_device.classic_control import Environment


class Batch(NamedTuple):
    """The environments: one row each. `totals` are the rewards of the running episodes."""

    states: jax.Array
    lengths: jax.Array
    totals: jax.Array


class Outcome(NamedTuple):
    """What one step gave. `totals` and `lengths` are those of episodes where `ended`."""

    rewards: jax.Array
    terminated: jax.Array
    ended: jax.Array
    next_obs: jax.Array
    totals: jax.Array
    lengths: jax.Array


def begin(env: Environment, num_envs: int, key: jax.Array) -> Batch:
    states = jax.vmap(env.reset)(jax.random.split(key, num_envs))
    return Batch(states, jnp.zeros(num_envs, jnp.int32), jnp.zeros(num_envs))


def observe(env: Environment, batch: Batch) -> jax.Array:
    return jax.vmap(env.observe)(batch.states)


def step(
    env: Environment, batch: Batch, actions: jax.Array, key: jax.Array
) -> tuple[Batch, Outcome]:
    """Step every environment; those that end begin anew, from states that the key decides."""
    states, rewards, terminated = jax.vmap(env.step)(batch.states, actions)
    next_obs = jax.vmap(env.observe)(states)
    lengths, totals = batch.lengths + 1, batch.totals + rewards
    ended = terminated | (lengths >= env.max_episode_steps)
    fresh = begin(env, len(lengths), key)
    following = Batch(
        jnp.where(ended[:, None], fresh.states, states),
        jnp.where(ended, fresh.lengths, lengths),
        jnp.where(ended, fresh.totals, totals),
    )
    return following, Outcome(rewards, terminated, ended, next_obs, totals, lengths)
