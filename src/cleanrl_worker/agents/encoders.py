"""Encoders: from observations of a space to features, for networks that go on from there."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import gymnasium as gym
from torch import Tensor, nn

from cleanrl_worker.agents import impala, minigrid, mlp, nature, q_networks
from cleanrl_worker.agents.layout import PICTURES, SCENES


class Encoder(NamedTuple):
    """Layers, what observations have to go through before them, and how many features they give."""

    layers: nn.Sequential
    prepare: Callable[[Tensor], Tensor]
    features: int


def encoder_for(space: gym.spaces.Box) -> Encoder:
    """Return the encoder of PPO's network for the space: pictures, scenes, views, or numbers."""
    if is_picture(space):
        return Encoder(nature.nature_layers(space.shape[0]), nature.scaled, nature.FEATURES)
    if is_scene(space):
        return Encoder(impala.ImpalaEncoder(*SCENES), impala.scaled_scenes, impala.FEATURES)
    if space.shape == minigrid.VIEW:
        return Encoder(minigrid.view_layers(), minigrid.scaled_view, minigrid.FEATURES)
    return Encoder(mlp.hidden_layers(math.prod(space.shape)), flat_numbers, mlp.HIDDEN)


def normalised_encoder_for(space: gym.spaces.Box) -> Encoder:
    """Return the encoder of PQN's network for the space: pictures, or numbers."""
    if is_picture(space):
        layers = nature.normalised_nature_layers(space.shape[0])
        return Encoder(layers, nature.scaled, nature.FEATURES)
    layers = q_networks.normalised_layers(math.prod(space.shape))
    return Encoder(layers, flat_numbers, q_networks.NORMALISED_FEATURES)


def is_picture(space: gym.spaces.Box) -> bool:
    """Say whether it is a stack of Atari's pictures, of whatever height."""
    return len(space.shape) == len(PICTURES) and space.shape[1:] == PICTURES[1:]


def is_scene(space: gym.spaces.Box) -> bool:
    """Say whether it is one of Procgen's scenes."""
    return space.shape == SCENES


def flat_numbers(obs: Tensor) -> Tensor:
    return obs.float().flatten(1)
