"""Networks that estimate the values of actions."""

from __future__ import annotations

import math

import gymnasium as gym
import torch
from torch import Tensor, nn

from cleanrl_worker.agents.dense import Dense
from cleanrl_worker.agents.layers import linear

NORMALISED_FEATURES = 84


def count_actions(space: gym.Space[object]) -> int:
    assert isinstance(space, gym.spaces.Discrete), space
    return int(space.n)


class QNetwork(nn.Module):
    """Flat observations: 120 and 84 units, ReLU; the parts are named as in CleanRL's dqn."""

    def __init__(self, obs_shape: tuple[int, ...], actions: int) -> None:
        super().__init__()
        self.network = _two_layers(math.prod(obs_shape), actions)

    def forward(self, obs: Tensor) -> Tensor:
        """Return a row of action values for every observation."""
        values: Tensor = self.network(obs.float().flatten(1))
        return values


class CategoricalQNetwork(nn.Module):
    """A distribution over fixed returns for every action; named as in CleanRL's c51."""

    atoms: Tensor

    def __init__(
        self, obs_shape: tuple[int, ...], actions: int, n_atoms: int, v_min: float, v_max: float
    ) -> None:
        super().__init__()
        self.register_buffer("atoms", torch.linspace(v_min, v_max, n_atoms))
        self.network = self.build_layers(obs_shape, actions * n_atoms)
        self._shape = (actions, n_atoms)

    def build_layers(self, obs_shape: tuple[int, ...], outputs: int) -> nn.Sequential:
        return _two_layers(math.prod(obs_shape), outputs)

    def inputs(self, obs: Tensor) -> Tensor:
        return obs.float().flatten(1)

    def forward(self, obs: Tensor) -> Tensor:
        """Return logits of [observation, action, atom]."""
        logits: Tensor = self.network(self.inputs(obs)).view(-1, *self._shape)
        return logits


class NormalisedQNetwork(nn.Module):
    """Layer normalisation before each ReLU, orthogonal weights; named as in CleanRL's pqn."""

    def __init__(self, obs_shape: tuple[int, ...], actions: int) -> None:
        super().__init__()
        self.network = normalised_layers(math.prod(obs_shape)).append(
            linear(NORMALISED_FEATURES, actions)
        )

    def forward(self, obs: Tensor) -> Tensor:
        """Return a row of action values for every observation."""
        values: Tensor = self.network(obs.float().flatten(1))
        return values


def normalised_layers(inputs: int) -> nn.Sequential:
    """Return the layers from flat observations to features."""
    return nn.Sequential(
        linear(inputs, 120),
        nn.LayerNorm(120),
        nn.ReLU(),
        linear(120, NORMALISED_FEATURES),
        nn.LayerNorm(NORMALISED_FEATURES),
        nn.ReLU(),
    )


def _two_layers(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        Dense(inputs, 120),
        nn.ReLU(inplace=True),
        Dense(120, 84),
        nn.ReLU(inplace=True),
        Dense(84, outputs),
    )
