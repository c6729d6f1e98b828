"""Deterministic actors in flax, and the bounds of their actions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from cleanrl_worker.agents.flax_agent import FlaxAgent, Network, Weights
from cleanrl_worker.agents.flax_networks import Actor, Critic

if TYPE_CHECKING:
    import gymnasium as gym

    from cleanrl_worker.agents.inference import Infer
    from cleanrl_worker.envs.observations import Array


@dataclass(frozen=True)
class Bounds:
    """The bounds of actions, flattened: one number a dimension."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def of(cls, space: gym.spaces.Box) -> Bounds:
        return cls(tuple(space.low.flatten().tolist()), tuple(space.high.flatten().tolist()))

    @property
    def size(self) -> int:
        return len(self.low)

    @property
    def scale(self) -> Any:
        """Half of each dimension's range."""
        return (np.array(self.high, np.float32) - np.array(self.low, np.float32)) / 2

    @property
    def bias(self) -> Any:
        return (np.array(self.high, np.float32) + np.array(self.low, np.float32)) / 2

    def clip(self, actions: jax.Array) -> jax.Array:
        return jnp.clip(actions, np.array(self.low), np.array(self.high)).astype(jnp.float32)


@dataclass(frozen=True)
class ActorAndCritics:
    """An actor and one critic or two; the weights are a dictionary by their names."""

    bounds: Bounds
    critics: tuple[str, ...]

    def first_weights(self, obs_shape: tuple[int, ...], key: jax.Array) -> Weights:
        keys = jax.random.split(key, 1 + len(self.critics))
        obs, actions = jnp.zeros((1, math.prod(obs_shape))), jnp.zeros((1, self.bounds.size))
        weights = {"actor": Actor(self.bounds.size).init(keys[0], obs)}
        for name, critic_key in zip(self.critics, keys[1:], strict=True):
            weights[name] = Critic().init(critic_key, obs, actions)
        return weights

    def actions(self, weights: Weights, obs: jax.Array) -> jax.Array:
        """Return the actor's actions, flat rows within the bounds."""
        actor: Network = Actor(self.bounds.size)
        relative: jax.Array = actor.apply(weights["actor"], obs)
        actions: jax.Array = relative * self.bounds.scale + self.bounds.bias
        return actions

    def values(self, name: str, weights: Weights, obs: jax.Array, actions: jax.Array) -> jax.Array:
        critic: Network = Critic()
        values: jax.Array = critic.apply(weights[name], obs, actions)
        return values

    def explore(
        self,
        weights: Weights,
        obs: jax.Array,
        key: jax.Array,
        share: float,
        *,
        is_random: jax.Array,
    ) -> jax.Array:
        """Return the actor's actions with noise, or uniformly random ones."""
        shape = (len(obs), self.bounds.size)
        noise = share * self.bounds.scale * jax.random.normal(key, shape)
        noisy = self.bounds.clip(self.actions(weights, obs) + noise)
        spread = jax.random.uniform(key, shape, minval=-1.0, maxval=1.0)
        return jnp.where(is_random, spread * self.bounds.scale + self.bounds.bias, noisy)


def infer_actions(agent: FlaxAgent) -> Infer:
    """Return a function from observations to the actor's actions."""
    forward = jax.jit(agent.networks.actions)

    def actions(obs: Array) -> Array:
        return np.asarray(forward(agent.weights, obs))

    return actions
