"""Choosing the network that fits an environment's spaces."""

from __future__ import annotations

import math

import gymnasium as gym
from torch import nn

from cleanrl_worker.agents.encoders import is_picture, is_scene
from cleanrl_worker.agents.impala import ImpalaAgent
from cleanrl_worker.agents.layout import PICTURES
from cleanrl_worker.agents.minigrid import VIEW as MINIGRID_VIEW
from cleanrl_worker.agents.minigrid import MinigridAgent
from cleanrl_worker.agents.mlp import GaussianMLPAgent, MLPAgent
from cleanrl_worker.agents.nature import (
    NatureAgent,
    NatureCategoricalQNetwork,
    NatureQNetwork,
    NormalisedNatureQNetwork,
)
from cleanrl_worker.agents.q_networks import (
    CategoricalQNetwork,
    NormalisedQNetwork,
    QNetwork,
    count_actions,
)


def build_actor_critic(
    observation_space: gym.spaces.Box, action_space: gym.Space[object], *, shared_trunk: bool
) -> nn.Module:
    if isinstance(action_space, gym.spaces.Box):
        return GaussianMLPAgent(observation_space.shape, math.prod(action_space.shape))
    assert isinstance(action_space, gym.spaces.Discrete), action_space
    actions = int(action_space.n)
    if is_picture(observation_space):
        return NatureAgent(actions, observation_space.shape[0])
    if is_scene(observation_space):
        return ImpalaAgent(actions)
    if observation_space.shape == MINIGRID_VIEW:
        return MinigridAgent(actions)
    return MLPAgent(observation_space.shape, actions, shared_trunk)


def build_q_network(
    observation_space: gym.spaces.Box, action_space: gym.Space[object]
) -> QNetwork | NatureQNetwork:
    actions = count_actions(action_space)
    if observation_space.shape == PICTURES:
        return NatureQNetwork(actions)
    return QNetwork(observation_space.shape, actions)


def build_normalised_q_network(
    observation_space: gym.spaces.Box, action_space: gym.Space[object]
) -> NormalisedQNetwork | NormalisedNatureQNetwork:
    actions = count_actions(action_space)
    if observation_space.shape == PICTURES:
        return NormalisedNatureQNetwork(actions)
    return NormalisedQNetwork(observation_space.shape, actions)


def build_categorical_q_network(
    observation_space: gym.spaces.Box,
    action_space: gym.Space[object],
    n_atoms: int,
    v_min: float,
    v_max: float,
) -> CategoricalQNetwork:
    shape = observation_space.shape
    network = NatureCategoricalQNetwork if shape == PICTURES else CategoricalQNetwork
    return network(shape, count_actions(action_space), n_atoms, v_min, v_max)
