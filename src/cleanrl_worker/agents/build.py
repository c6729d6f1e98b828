"""Choosing the network that fits an environment's spaces."""

from __future__ import annotations

import math

import gymnasium as gym
from torch import nn

from cleanrl_worker.agents.minigrid import VIEW as MINIGRID_VIEW
from cleanrl_worker.agents.minigrid import MinigridAgent
from cleanrl_worker.agents.mlp import GaussianMLPAgent, MLPAgent


def build_actor_critic(
    observation_space: gym.spaces.Box, action_space: gym.Space[object], *, shared_trunk: bool
) -> nn.Module:
    if isinstance(action_space, gym.spaces.Box):
        return GaussianMLPAgent(observation_space.shape, math.prod(action_space.shape))
    assert isinstance(action_space, gym.spaces.Discrete), action_space
    actions = int(action_space.n)
    if observation_space.shape == MINIGRID_VIEW:
        return MinigridAgent(actions)
    return MLPAgent(observation_space.shape, actions, shared_trunk)
