"""The agents for flat observations: two hidden layers of 64, tanh."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from cleanrl_worker.agents.layers import linear

HIDDEN = 64


class MLPAgent(nn.Module):
    """Actor and critic, apart as in CleanRL, or on a shared trunk.

    The parts are named as in CleanRL's ppo, so that its saved files load.
    """

    def __init__(
        self, obs_shape: tuple[int, ...], outputs: int, shared_trunk: bool = False
    ) -> None:
        super().__init__()
        inputs = math.prod(obs_shape)
        self.trunk: nn.Sequential | None = None
        if shared_trunk:
            self.trunk = hidden_layers(inputs)
            self.critic = nn.Sequential(linear(HIDDEN, 1, gain=1.0))
            self.actor = nn.Sequential(linear(HIDDEN, outputs, gain=0.01))
        else:
            self.critic = hidden_layers(inputs).append(linear(HIDDEN, 1, gain=1.0))
            self.actor = hidden_layers(inputs).append(linear(HIDDEN, outputs, gain=0.01))

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the actor's outputs and the values, one row an observation."""
        features = obs.float().flatten(1)
        if self.trunk is not None:
            features = self.trunk(features)
        return self.actor(features), self.critic(features).squeeze(-1)


def hidden_layers(inputs: int) -> nn.Sequential:
    return nn.Sequential(linear(inputs, HIDDEN), nn.Tanh(), linear(HIDDEN, HIDDEN), nn.Tanh())


class GaussianMLPAgent(nn.Module):
    """Means from a network, log standard deviations from a parameter; the critic apart.

    The parts are named as in CleanRL's ppo_continuous_action, so that its saved files load.
    """

    def __init__(self, obs_shape: tuple[int, ...], action_size: int) -> None:
        super().__init__()
        inputs = math.prod(obs_shape)
        self.critic = hidden_layers(inputs).append(linear(HIDDEN, 1, gain=1.0))
        self.actor_mean = hidden_layers(inputs).append(linear(HIDDEN, action_size, gain=0.01))
        self.actor_logstd = nn.Parameter(torch.zeros(1, action_size))

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return means and log standard deviations side by side, and the values."""
        features = obs.float().flatten(1)
        means = self.actor_mean(features)
        outputs = torch.cat((means, self.actor_logstd.expand_as(means)), -1)
        return outputs, self.critic(features).squeeze(-1)
