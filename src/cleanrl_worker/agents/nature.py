"""The networks for Atari pictures: three convolutions and 512 features (Mnih et al. 2015)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cleanrl_worker.agents.dense import Dense
from cleanrl_worker.agents.layers import conv, linear
from cleanrl_worker.agents.layout import PICTURES, laid_out
from cleanrl_worker.agents.q_networks import CategoricalQNetwork

FEATURES = 512
_CHANNELS = 64
_LEFT = 7  # rows and columns that the convolutions leave of 84
CONVOLVED = _CHANNELS * _LEFT * _LEFT  # numbers that they leave
BRIGHTEST = 255.0


class NatureAgent(nn.Module):
    """Actor and critic on one encoder; the parts are named as in CleanRL's ppo_atari."""

    def __init__(self, outputs: int, channels: int = PICTURES[0]) -> None:
        super().__init__()
        self.network = nature_layers(channels)
        self.actor = linear(FEATURES, outputs, gain=0.01)
        self.critic = linear(FEATURES, 1, gain=1.0)

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the actor's outputs and the values, one row an observation."""
        features = self.network(scaled(obs))
        return self.actor(features), self.critic(features).squeeze(-1)


class NatureQNetwork(nn.Module):
    """Values of actions, with torch's own initialisation; named as in CleanRL's dqn_atari."""

    def __init__(self, actions: int) -> None:
        super().__init__()
        self.network = _value_layers(actions)

    def forward(self, obs: Tensor) -> Tensor:
        """Return a row of action values for every observation."""
        values: Tensor = self.network(scaled(obs))
        return values


class NormalisedNatureQNetwork(nn.Module):
    """Values of actions, normalised in every layer; named as in CleanRL's pqn_atari_envpool."""

    def __init__(self, actions: int) -> None:
        super().__init__()
        self.network = normalised_nature_layers(PICTURES[0]).append(linear(FEATURES, actions))

    def forward(self, obs: Tensor) -> Tensor:
        """Return a row of action values for every observation."""
        values: Tensor = self.network(scaled(obs))
        return values


class NatureCategoricalQNetwork(CategoricalQNetwork):
    """A distribution over fixed returns for every action; named as in CleanRL's c51_atari."""

    def build_layers(self, obs_shape: tuple[int, ...], outputs: int) -> nn.Sequential:
        assert obs_shape == PICTURES, obs_shape
        return _value_layers(outputs)

    def inputs(self, obs: Tensor) -> Tensor:
        return scaled(obs)


def nature_layers(channels: int, features: int = FEATURES) -> nn.Sequential:
    """Return the layers from scaled pictures to features, with orthogonal weights."""
    return nn.Sequential(
        conv(channels, 32, 8, stride=4),
        nn.ReLU(inplace=True),
        conv(32, _CHANNELS, 4, stride=2),
        nn.ReLU(inplace=True),
        conv(_CHANNELS, _CHANNELS, 3),
        nn.ReLU(inplace=True),
        nn.Flatten(),
        linear(CONVOLVED, features),
        nn.ReLU(inplace=True),
    )


def normalised_nature_layers(channels: int) -> nn.Sequential:
    """Return the layers from scaled pictures to features, with a normalisation before each ReLU."""
    return nn.Sequential(
        conv(channels, 32, 8, stride=4),
        nn.LayerNorm([32, 20, 20]),
        nn.ReLU(inplace=True),
        conv(32, _CHANNELS, 4, stride=2),
        nn.LayerNorm([_CHANNELS, 9, 9]),
        nn.ReLU(inplace=True),
        conv(_CHANNELS, _CHANNELS, 3),
        nn.LayerNorm([_CHANNELS, _LEFT, _LEFT]),
        nn.ReLU(inplace=True),
        nn.Flatten(),
        linear(CONVOLVED, FEATURES),
        nn.LayerNorm(FEATURES),
        nn.ReLU(inplace=True),
    )


def scaled(pictures: Tensor) -> Tensor:
    """Bring bytes to [0, 1]. A pass without gradients does not repay a change of layout."""
    if torch.is_grad_enabled():
        pictures = laid_out(pictures)
    return pictures.to(torch.float32, copy=True).div_(BRIGHTEST)


def convolutions() -> nn.Sequential:
    """Return the layers from scaled pictures to flat numbers, with torch's own initialisation."""
    return nn.Sequential(
        nn.Conv2d(PICTURES[0], 32, 8, stride=4),
        nn.ReLU(inplace=True),
        nn.Conv2d(32, _CHANNELS, 4, stride=2),
        nn.ReLU(inplace=True),
        nn.Conv2d(_CHANNELS, _CHANNELS, 3),
        nn.ReLU(inplace=True),
        nn.Flatten(),
    )


def _value_layers(outputs: int) -> nn.Sequential:
    return nn.Sequential(
        *convolutions(),
        Dense(CONVOLVED, FEATURES),
        nn.ReLU(inplace=True),
        Dense(FEATURES, outputs),
    )
