"""Networks of random network distillation (Burda et al. 2019): what is new to an agent.

A predictor learns what a random network, the target, gives for an observation. Where it has learned
it, the observation is known; where it errs, it is new.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import gymnasium as gym
import torch
from torch import Tensor, nn

from cleanrl_worker.agents.encoders import encoder_for, is_picture
from cleanrl_worker.agents.layers import conv, linear
from cleanrl_worker.agents.nature import nature_layers, scaled
from cleanrl_worker.envs.observations import Array

PICTURE_FEATURES = 448
EMBEDDING = 512
FLAT_EMBEDDING = 64
CLIP = 5.0  # standard deviations


class TwoValuesAgent(nn.Module):
    """Actor, and critics of what the environment pays and of what is new, on one encoder.

    The parts are named as in CleanRL's ppo_rnd_envpool.
    """

    def __init__(self, observation_space: gym.spaces.Box, outputs: int) -> None:
        super().__init__()
        self._prepare: Callable[[Tensor], Tensor]
        if is_picture(observation_space):
            features, self._prepare = PICTURE_FEATURES, scaled
            self.network = nature_layers(observation_space.shape[0], 256)
            self.network.extend([linear(256, features), nn.ReLU(inplace=True)])
        else:
            self.network, self._prepare, features = encoder_for(observation_space)
        self.extra_layer = nn.Sequential(linear(features, features, gain=0.1), nn.ReLU())
        self.actor = nn.Sequential(
            linear(features, features), nn.ReLU(), linear(features, outputs, gain=0.01)
        )
        self.critic_ext = linear(features, 1, gain=0.01)
        self.critic_int = linear(features, 1, gain=0.01)

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the actor's outputs, and a row of two values for every observation."""
        features = self.network(self._prepare(obs))
        judged = self.extra_layer(features) + features
        values = torch.cat((self.critic_ext(judged), self.critic_int(judged)), -1)
        return self.actor(features), values


class Distillation(nn.Module):
    """A target that stays as it began, and a predictor of it, on observations of one scale.

    They see what `seen_part` leaves of observations: a last picture, or flat numbers.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, observation_space: gym.spaces.Box) -> None:
        super().__init__()
        self.shape = seen_shape(observation_space)
        build = _picture_layers if is_picture(observation_space) else _flat_layers
        self.target, embedding = build(self.shape)
        self.predictor, _ = build(self.shape)
        for _ in range(2):
            self.predictor.extend([nn.ReLU(), linear(embedding, embedding)])
        self.target.requires_grad_(requires_grad=False)
        self.register_buffer("mean", torch.zeros(self.shape))
        self.register_buffer("std", torch.ones(self.shape))

    def set_scale(self, mean: Array, std: Array) -> None:
        """Bring observations to this mean and standard deviation from now on."""
        self.mean.copy_(torch.from_numpy(mean))
        self.std.copy_(torch.from_numpy(std))

    def forward(self, seen: Tensor) -> Tensor:
        """Return the squared error of every feature of the target, a row an observation."""
        inputs = ((seen - self.mean) / self.std).clamp(-CLIP, CLIP)
        with torch.no_grad():
            wanted = self.target(inputs)
        errors: Tensor = (self.predictor(inputs) - wanted).square()
        return errors


def seen_shape(space: gym.spaces.Box) -> tuple[int, ...]:
    return (1, *space.shape[1:]) if is_picture(space) else (math.prod(space.shape),)


def seen_part(obs: Array, shape: tuple[int, ...]) -> Array:
    """Return what is looked at: the last pictures of stacks, or everything as rows of numbers."""
    return obs[:, -1:] if len(shape) > 1 else obs.reshape(len(obs), *shape)


def _picture_layers(shape: tuple[int, ...]) -> tuple[nn.Sequential, int]:
    layers = nn.Sequential(
        conv(shape[0], 32, 8, stride=4),
        nn.LeakyReLU(),
        conv(32, 64, 4, stride=2),
        nn.LeakyReLU(),
        conv(64, 64, 3),
        nn.LeakyReLU(),
        nn.Flatten(),
        linear(64 * 7 * 7, EMBEDDING),
    )
    return layers, EMBEDDING


def _flat_layers(shape: tuple[int, ...]) -> tuple[nn.Sequential, int]:
    width = FLAT_EMBEDDING
    layers = nn.Sequential(
        linear(shape[0], width), nn.LeakyReLU(), linear(width, width), nn.LeakyReLU()
    )
    return layers.append(linear(width, width)), width
