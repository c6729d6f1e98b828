"""Networks for continuous actions: 256 and 256 units, ReLU; named as in CleanRL."""

from __future__ import annotations

import math

import gymnasium as gym
import torch
from torch import Tensor, nn
from torch.nn.functional import relu_

from cleanrl_worker.agents.dense import Dense

HIDDEN = 256
LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0


class BoundedActor(nn.Module):
    """What actors have in common: two layers, and actions within the space's bounds."""

    action_scale: Tensor
    action_bias: Tensor

    def __init__(self, obs_shape: tuple[int, ...], space: gym.spaces.Box) -> None:
        super().__init__()
        low, high = torch.as_tensor(space.low).flatten(), torch.as_tensor(space.high).flatten()
        self.fc1 = Dense(math.prod(obs_shape), HIDDEN)
        self.fc2 = Dense(HIDDEN, HIDDEN)
        self.register_buffer("action_scale", ((high - low) / 2).float())
        self.register_buffer("action_bias", ((high + low) / 2).float())

    def features(self, obs: Tensor) -> Tensor:
        return relu_(self.fc2(relu_(self.fc1(obs.float().flatten(1)))))


class DeterministicActor(BoundedActor):
    def __init__(self, obs_shape: tuple[int, ...], space: gym.spaces.Box) -> None:
        super().__init__(obs_shape, space)
        self.fc_mu = Dense(HIDDEN, math.prod(space.shape))

    def forward(self, obs: Tensor) -> Tensor:
        actions: Tensor = self.fc_mu(self.features(obs)).tanh()
        return actions * self.action_scale + self.action_bias


class SquashedGaussianActor(BoundedActor):
    """A Gaussian whose samples are squashed by tanh into the bounds (Haarnoja et al. 2018)."""

    def __init__(self, obs_shape: tuple[int, ...], space: gym.spaces.Box) -> None:
        super().__init__(obs_shape, space)
        self.fc_mean = Dense(HIDDEN, math.prod(space.shape))
        self.fc_logstd = Dense(HIDDEN, math.prod(space.shape))

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return means and log standard deviations before squashing."""
        features = self.features(obs)
        squashed = self.fc_logstd(features).tanh()
        return self.fc_mean(features), LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (
            squashed + 1
        )

    def sample(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return sampled actions, and their log probabilities corrected for the squashing."""
        means, log_stds = self(obs)
        noise = torch.randn_like(means)
        squashed = (means + log_stds.exp() * noise).tanh()
        log_probs = -0.5 * noise.square() - log_stds - 0.5 * math.log(2 * math.pi)
        log_probs = log_probs - (self.action_scale * (1 - squashed.square()) + 1e-6).log()
        return squashed * self.action_scale + self.action_bias, log_probs.sum(-1)


class Critic(nn.Module):
    """The value of an observation and an action."""

    def __init__(self, obs_shape: tuple[int, ...], space: gym.spaces.Box) -> None:
        super().__init__()
        self.fc1 = Dense(math.prod(obs_shape) + math.prod(space.shape), HIDDEN)
        self.fc2 = Dense(HIDDEN, HIDDEN)
        self.fc3 = Dense(HIDDEN, 1)

    def forward(self, obs: Tensor, actions: Tensor) -> Tensor:
        x = torch.cat((obs.float().flatten(1), actions.flatten(1)), 1)
        values: Tensor = self.fc3(relu_(self.fc2(relu_(self.fc1(x))))).squeeze(-1)
        return values
