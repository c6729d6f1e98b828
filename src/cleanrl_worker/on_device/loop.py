"""Rollout and update as one program: the loop around a learning rule that lives on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from cleanrl_worker.on_device import batch as envs
from cleanrl_worker.on_device import ring
from cleanrl_worker.on_device.batch import Batch, Outcome
from cleanrl_worker.on_device.classic_control import Environment
from cleanrl_worker.on_device.ring import Samples

Learner = Any  # the weights and optimiser states of a learning rule, as a tree
Losses = dict[str, jax.Array]
Draw = Callable[[jax.Array], Samples]


class Rules(NamedTuple):
    """A learning rule as functions.

    `act(learner, obs, key, step)` returns actions. `learn(learner, losses, draw, step, key)`
    does what is due after a step of all environments that began at `step`; `draw(key)` samples
    transitions. It returns the learner and the losses, which it was given where none is new.
    """

    act: Callable[[Learner, jax.Array, jax.Array, jax.Array], jax.Array]
    learn: Callable[[Learner, Losses, Draw, jax.Array, jax.Array], tuple[Learner, Losses]]
    learning_starts: int
    batch_size: int
    losses: tuple[str, ...]


class Tally(NamedTuple):
    """What the episodes that ended since the last look add up to."""

    episodes: jax.Array
    returns: jax.Array
    lengths: jax.Array


class State(NamedTuple):
    """All that a loop carries from one step to the next."""

    learner: Learner
    ring: Samples
    envs: Batch
    losses: Losses
    tally: Tally


def begin(
    env: Environment, rules: Rules, learner: Learner, num_envs: int, capacity: int, key: jax.Array
) -> State:
    """Return the state of a loop that has not stepped yet."""
    batch = envs.begin(env, num_envs, key)
    obs = envs.observe(env, batch)
    actions = rules.act(learner, obs, key, jnp.int32(0))
    losses = {name: jnp.float32(0.0) for name in rules.losses}
    return State(learner, ring.allocate(capacity, obs, actions), batch, losses, no_episodes())


def no_episodes() -> Tally:
    return Tally(jnp.int32(0), jnp.float32(0.0), jnp.int32(0))


def advance(
    env: Environment,
    rules: Rules,
    state: State,
    key: jax.Array,
    step: jax.Array,
    held: jax.Array,
    iterations: jax.Array,
) -> State:
    """Step all environments `iterations` times from `step` on, and learn what is due.

    `held` counts the transitions ever added to the ring. What is random depends on the key and the
    step alone. The tally begins anew.
    """
    num_envs = len(state.envs.lengths)

    def iterate(index: jax.Array, state: State) -> State:
        done = index * num_envs
        return _iterate(env, rules, state, key, step + done, held + done)

    begun = state._replace(tally=no_episodes())
    advanced: State = jax.lax.fori_loop(0, iterations, iterate, begun)
    return advanced


def _iterate(
    env: Environment,
    rules: Rules,
    state: State,
    key: jax.Array,
    step: jax.Array,
    held: jax.Array,
) -> State:
    act_key, env_key, learn_key = jax.random.split(jax.random.fold_in(key, step), 3)
    obs = envs.observe(env, state.envs)
    actions = rules.act(state.learner, obs, act_key, step)
    batch, outcome = envs.step(env, state.envs, actions, env_key)
    rows = Samples(
        obs, actions, outcome.rewards, outcome.next_obs, outcome.terminated.astype(jnp.float32)
    )
    filled = ring.add(state.ring, rows, held)
    held = held + len(obs)

    def draw(sample_key: jax.Array) -> Samples:
        return ring.sample(filled, held, rules.batch_size, sample_key)

    learner, losses = jax.lax.cond(
        step + len(obs) > rules.learning_starts,
        lambda learner, losses: rules.learn(learner, losses, draw, step, learn_key),
        lambda learner, losses: (learner, losses),
        state.learner,
        state.losses,
    )
    return State(learner, filled, batch, losses, _count(state.tally, outcome))


def _count(tally: Tally, outcome: Outcome) -> Tally:
    ended = outcome.ended
    return Tally(
        tally.episodes + ended.sum(dtype=jnp.int32),
        tally.returns + jnp.where(ended, outcome.totals, 0.0).sum(),
        tally.lengths + jnp.where(ended, outcome.lengths, 0).sum(dtype=jnp.int32),
    )
