"""The networks of the JAX algorithms, in CleanRL's sizes.

Those for flat observations begin as their twins in torch do, and then learn as they do: with flax's
own beginning eight learners of DQN had 387 on CartPole in the end, and have 449 with torch's. Those
for pictures begin as flax has it.
"""

from __future__ import annotations

import math
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from cleanrl_worker.agents.flax_convolution import convolution

PICTURES = (4, 84, 84)  # pictures of an observation, rows, columns
BRIGHTEST = 255.0


class MLP(nn.Module):
    """Flat observations: 120 and 84 units, ReLU."""

    outputs: int

    @nn.compact
    def __call__(self, obs: jax.Array) -> jax.Array:
        x = obs.reshape(len(obs), -1).astype(jnp.float32)
        x = nn.relu(dense(120, x))
        x = nn.relu(dense(84, x))
        return dense(self.outputs, x)


class NatureNetwork(nn.Module):
    """Atari pictures: three convolutions and 512 features (Mnih et al. 2015)."""

    outputs: int

    @nn.compact
    def __call__(self, obs: jax.Array) -> jax.Array:
        x = scaled(obs)
        x = nn.relu(nn.Conv(32, (8, 8), (4, 4), "VALID")(x))
        x = nn.relu(nn.Conv(64, (4, 4), (2, 2), "VALID")(x))
        x = nn.relu(nn.Conv(64, (3, 3), (1, 1), "VALID")(x))
        x = nn.relu(nn.Dense(512)(x.reshape(len(x), -1)))
        return nn.Dense(self.outputs)(x)


class Actor(nn.Module):
    """A deterministic policy of 256 and 256 units, within bounds."""

    action_size: int

    @nn.compact
    def __call__(self, obs: jax.Array) -> jax.Array:
        """Return actions in [-1, 1], one row an observation."""
        x = obs.reshape(len(obs), -1).astype(jnp.float32)
        x = nn.relu(dense(256, x))
        x = nn.relu(dense(256, x))
        return jnp.tanh(dense(self.action_size, x))


class Critic(nn.Module):
    """The value of an observation and an action."""

    @nn.compact
    def __call__(self, obs: jax.Array, actions: jax.Array) -> jax.Array:
        rows = (obs.reshape(len(obs), -1), actions.reshape(len(actions), -1))
        x = jnp.concatenate(rows, -1).astype(jnp.float32)
        x = nn.relu(dense(256, x))
        x = nn.relu(dense(256, x))
        return dense(1, x).squeeze(-1)


def dense(outputs: int, rows: jax.Array) -> jax.Array:
    """Apply a linear layer that begins as torch's do: uniform, with a bias."""
    bound = 1 / math.sqrt(rows.shape[-1])

    def uniform(key: jax.Array, shape: tuple[int, ...], dtype: Any = jnp.float32) -> jax.Array:
        return jax.random.uniform(key, shape, dtype, -bound, bound)

    applied: jax.Array = nn.Dense(outputs, kernel_init=uniform, bias_init=uniform)(rows)
    return applied


def scaled(pictures: jax.Array) -> jax.Array:
    """Bring bytes to [0, 1], the pictures of a pixel side by side as convolutions read them."""
    return pictures.transpose(0, 2, 3, 1).astype(jnp.float32) / BRIGHTEST


def value_network(obs_shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Return the network that fits the observations."""
    return NatureNetwork(outputs) if obs_shape == PICTURES else MLP(outputs)


class NatureAgent(nn.Module):
    """Actor and critic on one encoder for Atari pictures, with orthogonal weights."""

    actions: int

    @nn.compact
    def __call__(self, obs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the logits of all actions and the values, one row an observation."""
        wide = nn.initializers.orthogonal(math.sqrt(2.0))
        x = scaled(obs)
        x = nn.relu(convolution(32, 8, 4, kernel_init=wide)(x))
        x = nn.relu(convolution(64, 4, 2, kernel_init=wide)(x))
        x = nn.relu(convolution(64, 3, 1, kernel_init=wide)(x))
        x = nn.relu(nn.Dense(512, kernel_init=wide)(x.reshape(len(x), -1)))
        logits = nn.Dense(self.actions, kernel_init=nn.initializers.orthogonal(0.01))(x)
        values = nn.Dense(1, kernel_init=nn.initializers.orthogonal(1.0))(x)
        return logits, values.squeeze(-1)
