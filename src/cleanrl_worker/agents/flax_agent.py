"""Flax networks behind what the platform asks of an agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from cleanrl_worker.on_device.trees import Arrays, from_arrays, to_arrays

Weights = Any  # a nested dictionary of arrays
Network = Any  # a flax module, whose `apply` is declared to return what none here does


class FlaxAgent:
    """Networks, which are only descriptions, and their weights.

    `weights` is replaced by every update. The arrays before it may be gone by then: a compiled
    update writes into their memory.
    """

    def __init__(self, networks: Any, weights: Weights) -> None:
        self.networks = networks
        self.weights = weights

    @property
    def architecture(self) -> str:
        return type(self.networks).__name__

    def state_dict(self) -> Arrays:
        return to_arrays(self.weights)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.weights = from_arrays(self.weights, state)

    def parameters(self) -> list[jax.Array]:
        return jax.tree_util.tree_leaves(self.weights)

    def to(self, device: object) -> FlaxAgent:
        """Return this agent: JAX has put its arrays on its one device."""
        return self


def draw_key() -> jax.Array:
    """Return a key for first weights, drawn from NumPy's global state as the run's seed set it."""
    return jax.random.key(np.random.randint(2**31))


class HeldLearner:
    """What a run learns with, of which the weights are the agent's: a part of its checkpoints.

    The learner is a named tuple whose first field is `weights`.
    """

    def __init__(self, agent: FlaxAgent, learner: Any) -> None:
        self._agent = agent
        self.learner = learner

    @property
    def learner(self) -> Any:
        return self._rest._replace(weights=self._agent.weights)

    @learner.setter
    def learner(self, learner: Any) -> None:
        self._agent.weights = learner.weights
        self._rest = learner._replace(weights=None)

    def state_dict(self) -> Arrays:
        return to_arrays(self._rest)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._rest = from_arrays(self._rest, state)
