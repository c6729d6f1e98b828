"""The network of phasic policy gradient (Cobbe et al. 2021).

The policy and an auxiliary value share an encoder. The critic reads the same features, but its
gradients end there: between auxiliary phases the encoder learns from the policy alone.
"""

from __future__ import annotations

import math
from typing import TypeVar

import gymnasium as gym
import torch
from torch import Tensor, nn

from cleanrl_worker.agents.encoders import encoder_for, is_scene
from cleanrl_worker.agents.impala import ConvSequence, ImpalaEncoder

Layer = TypeVar("Layer", nn.Linear, nn.Conv2d)

ENCODER_TOP, HEAD = 1.4, 0.1  # norms of rows at the start, as in the authors' code


class PhasicAgent(nn.Module):
    """Actor, critic and auxiliary critic; the parts are named as in CleanRL's ppg_procgen."""

    def __init__(self, observation_space: gym.spaces.Box, outputs: int) -> None:
        super().__init__()
        self.network, self._prepare, features = encoder_for(observation_space)
        if is_scene(observation_space):
            assert isinstance(self.network, ImpalaEncoder)
            normalise_encoder(self.network)
        self.actor = normed(nn.Linear(features, outputs), HEAD)
        self.critic = normed(nn.Linear(features, 1), HEAD)
        self.aux_critic = normed(nn.Linear(features, 1), HEAD)

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the actor's outputs and the values, one row an observation."""
        features = self.network(self._prepare(obs))
        return self.actor(features), self.critic(features.detach()).squeeze(-1)

    def with_auxiliary(self, obs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the actor's outputs, the values, and the auxiliary values."""
        features = self.network(self._prepare(obs))
        values, auxiliary = self.critic(features.detach()), self.aux_critic(features)
        return self.actor(features), values.squeeze(-1), auxiliary.squeeze(-1)


def normed(layer: Layer, norm: float) -> Layer:
    """Give the weights of each output this norm, and no bias."""
    with torch.no_grad():
        rows = layer.weight.flatten(1).norm(dim=1)
        layer.weight.mul_((norm / rows).view(-1, *[1] * (layer.weight.dim() - 1)))
        assert layer.bias is not None
        layer.bias.zero_()
    return layer


def normalise_encoder(encoder: ImpalaEncoder) -> None:
    """Give every output of every layer weights of one norm, smaller where more of them add up."""
    sequences = [part for part in encoder if isinstance(part, ConvSequence)]
    for sequence in sequences:
        normed(sequence.conv, 1.0)
        blocks = (sequence.res_block0, sequence.res_block1)
        scale = 1 / math.sqrt(len(sequences)) / math.sqrt(len(blocks))
        for block in blocks:
            normed(block.conv0, math.sqrt(scale))
            normed(block.conv1, math.sqrt(scale))
    (top,) = (part for part in encoder if isinstance(part, nn.Linear))
    normed(top, ENCODER_TOP)
