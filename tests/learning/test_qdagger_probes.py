"""QDagger takes over what its teacher knows of a game of two pictures, and goes beyond it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import Tensor, nn

from cleanrl_worker.agents.inference import infer
from cleanrl_worker.algorithms import qdagger
from cleanrl_worker.channel import Channel
from cleanrl_worker.envs.sync import SyncEnvs
from cleanrl_worker.recipes import RECIPES
from cleanrl_worker.recording import Run
from cleanrl_worker.teachers import Teacher
from tests.learning.training import CPU

SEEDS = pytest.mark.parametrize("seed", [1, 2, 3])
SIDE = 84
# The only setting of the two tests that they do not share is how the steps are divided.
SETTINGS: dict[str, Any] = {
    "num_envs": 4,
    "learning_rate": 1e-3,
    "gamma": 0.5,
    "buffer_size": 400,
    "batch_size": 16,
    "learning_starts": 40,
    "train_frequency": 4,
    "target_network_frequency": 20,
    "teacher_steps": 80,
    "train_teacher_steps": 1,
    "teacher_eval_episodes": 1,
    "exploration_fraction": 0.5,
    "temperature": 0.1,
}


def picture(is_right: bool) -> np.ndarray:
    """Return a stack of pictures with a bright half."""
    stack = np.zeros((4, SIDE, SIDE), np.uint8)
    stack[:, :, slice(SIDE // 2, None) if is_right else slice(SIDE // 2)] = 255
    return stack


class BrightHalf(gym.Env[np.ndarray, Any]):
    """Pays 1 for pointing at the bright half, else nothing; an episode is one step."""

    observation_space = spaces.Box(0, 255, (4, SIDE, SIDE), np.uint8)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self._is_right = bool(self.np_random.integers(2))
        return picture(self._is_right), {}

    def step(self, action: Any):
        return picture(self._is_right), float(action == self._is_right), True, False, {}


class Pointing(nn.Module):
    """A teacher that knows the values, or believes that the left half is always the bright one."""

    def __init__(self, *, is_wise: bool) -> None:
        super().__init__()
        self._is_wise = is_wise

    def forward(self, obs: Tensor) -> Tensor:
        is_right = (obs[:, 0, 0, -1] > 0).float() * self._is_wise
        return torch.stack((1 - is_right, is_right), 1)


def train(seed: int, total_timesteps: int, offline_steps: int, *, is_wise: bool) -> list[int]:
    """Return the student's actions for the left and the right picture."""
    torch.manual_seed(seed)
    config = qdagger.Config(**SETTINGS, offline_steps=offline_steps)
    config.check(total_timesteps)
    envs = SyncEnvs(lambda index: BrightHalf(), config.num_envs, env_id="BrightHalf")
    agent = qdagger.build(config, envs)
    adviser = Pointing(is_wise=is_wise)
    teacher = Teacher(RECIPES["dqn_atari"], adviser, infer(adviser, None, CPU))
    teacher.mean_return = 1.0 if is_wise else 0.5
    run = Run(total_timesteps=total_timesteps, seed=seed, channel=Channel(None), teacher=teacher)
    qdagger.train(run, config, envs, agent, CPU)
    choose = qdagger.policy(agent, envs.action_space, CPU)
    chosen: list[int] = choose(np.stack((picture(False), picture(True))), None).tolist()
    return chosen


@SEEDS
def test_the_student_takes_over_what_the_teacher_knows(seed: int) -> None:
    assert train(seed, 164, 30, is_wise=True) == [0, 1]


@pytest.mark.learn
@SEEDS
def test_the_student_goes_beyond_a_teacher_that_knows_half(seed: int) -> None:
    """Budget: 80 steps of the teacher, 30 offline updates, 490 steps of its own play."""
    assert train(seed, 600, 30, is_wise=False) == [0, 1]
