"""The networks for Atari pictures: three convolutions and 512 features (Mnih et al. 2015)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cleanrl_worker.agents.layers import conv, linear
from cleanrl_worker.agents.q_networks import CategoricalQNetwork

PICTURES = (4, 84, 84)  # pictures of an observation, rows, columns
FEATURES = 512
_CHANNELS = 64
_LEFT = 7  # rows and columns that the convolutions leave of 84
BRIGHTEST = 255.0
# On a CPU a forward and a backward pass of 256 take a fifth less time with channels last; of 32 as
# much as without, and acting on 8 a tenth more.
CHANNELS_LAST_FROM = 64


class NatureAgent(nn.Module):
    """Actor and critic on one encoder; the parts are named as in CleanRL's ppo_atari."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.network = nn.Sequential(
            conv(PICTURES[0], 32, 8, stride=4),
            nn.ReLU(),
            conv(32, _CHANNELS, 4, stride=2),
            nn.ReLU(),
            conv(_CHANNELS, _CHANNELS, 3),
            nn.ReLU(),
            nn.Flatten(),
            linear(_CHANNELS * _LEFT * _LEFT, FEATURES),
            nn.ReLU(),
        )
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


class NatureCategoricalQNetwork(CategoricalQNetwork):
    """A distribution over fixed returns for every action; named as in CleanRL's c51_atari."""

    def build_layers(self, obs_shape: tuple[int, ...], outputs: int) -> nn.Sequential:
        assert obs_shape == PICTURES, obs_shape
        return _value_layers(outputs)

    def inputs(self, obs: Tensor) -> Tensor:
        return scaled(obs)


def scaled(pictures: Tensor) -> Tensor:
    """Bring bytes to [0, 1], laid out as convolutions read them fastest."""
    bright = pictures.to(torch.float32) / BRIGHTEST
    if bright.device.type == "cpu" and len(bright) >= CHANNELS_LAST_FROM:
        return bright.contiguous(memory_format=torch.channels_last)
    return bright


def _value_layers(outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(PICTURES[0], 32, 8, stride=4),
        nn.ReLU(),
        nn.Conv2d(32, _CHANNELS, 4, stride=2),
        nn.ReLU(),
        nn.Conv2d(_CHANNELS, _CHANNELS, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(_CHANNELS * _LEFT * _LEFT, FEATURES),
        nn.ReLU(),
        nn.Linear(FEATURES, outputs),
    )
