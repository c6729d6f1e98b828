"""Training an algorithm on a probe, in this process."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import nn

from cleanrl_worker.channel import Channel
from cleanrl_worker.envs.sync import SyncEnvs
from cleanrl_worker.recording import Run

CPU = torch.device("cpu")


class Trained:
    """An agent after its training."""

    def __init__(self, algorithm: ModuleType, agent: nn.Module, envs: SyncEnvs) -> None:
        self.agent = agent
        self.choose = algorithm.policy(agent, envs.action_space, CPU)

    def actions(self, *observations: float) -> list[Any]:
        """Return the greedy actions for observations of one number each."""
        chosen: list[Any] = self.choose(rows(*observations), None).tolist()
        return chosen


def rows(*observations: float) -> np.ndarray:
    return np.array(observations, np.float32)[:, None]


def train(
    algorithm: ModuleType, env: type[gym.Env[Any, Any]], seed: int, steps: int, **settings: Any
) -> Trained:
    torch.manual_seed(seed)
    config = algorithm.Config(**settings)
    envs = SyncEnvs(lambda index: env(), config.num_envs, env_id=env.__name__)
    agent = algorithm.build(config, envs)
    run = Run(total_timesteps=steps, seed=seed, channel=Channel(None))
    algorithm.train(run, config, envs, agent, CPU)
    return Trained(algorithm, agent, envs)
