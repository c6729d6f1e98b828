"""PPO finds the known values and policies of the probes."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from cleanrl_worker.agents.inference import inference
from cleanrl_worker.algorithms import ppo
from cleanrl_worker.channel import Channel
from cleanrl_worker.envs.sync import SyncEnvs
from cleanrl_worker.recording import Run
from tests.learning import probes

CPU = torch.device("cpu")
SETTINGS: dict[str, Any] = {
    "num_envs": 8,
    "num_steps": 32,
    "learning_rate": 3e-3,
    "gamma": 0.5,
    "clip_vloss": False,
}


def train(env: type[gym.Env[Any, Any]], seed: int, steps: int = 8_000, **changes: Any):
    torch.manual_seed(seed)
    config = ppo.Config(**{**SETTINGS, **changes})
    envs = SyncEnvs(lambda index: env(), config.num_envs, env_id=env.__name__)
    agent = ppo.build(config, envs)
    run = Run(total_timesteps=steps, seed=seed, channel=Channel(None))
    ppo.train(run, config, envs, agent, CPU)
    return agent, envs


def values_of(agent: torch.nn.Module, *observations: float) -> list[float]:
    rows = np.array(observations, np.float32)[:, None]
    return inference(agent, CPU)(rows)[1].tolist()


SEEDS = pytest.mark.parametrize("seed", [1, 2, 3])


@SEEDS
def test_the_value_of_a_constant_reward(seed: int) -> None:
    agent, _ = train(probes.ConstantReward, seed)
    assert values_of(agent, -1.0, 1.0) == pytest.approx([1.0, 1.0], abs=0.1)


@SEEDS
def test_the_value_depends_on_the_observation(seed: int) -> None:
    agent, _ = train(probes.SignReward, seed)
    assert values_of(agent, -1.0, 1.0) == pytest.approx([-1.0, 1.0], abs=0.15)


@SEEDS
def test_a_later_reward_is_discounted(seed: int) -> None:
    agent, _ = train(probes.DelayedReward, seed)
    assert values_of(agent, -0.5, 0.5) == pytest.approx([0.5, 1.0], abs=0.1)


@SEEDS
def test_a_truncated_episode_is_bootstrapped(seed: int) -> None:
    agent, _ = train(probes.EndlessReward, seed)
    assert values_of(agent, 0.0) == pytest.approx([2.0], abs=0.15)


@SEEDS
def test_the_policy_depends_on_the_observation(seed: int) -> None:
    agent, envs = train(probes.MatchTheSign, seed)
    choose = ppo.policy(agent, envs.action_space, CPU)
    assert choose(np.array([[-1.0], [1.0]], np.float32), None).tolist() == [0, 1]


@SEEDS
def test_a_continuous_policy_depends_on_the_observation(seed: int) -> None:
    agent, envs = train(probes.ReachTheSign, seed, steps=20_000)
    choose = ppo.policy(agent, envs.action_space, CPU)
    actions = choose(np.array([[-1.0], [1.0]], np.float32), None)[:, 0].tolist()
    assert actions == pytest.approx([-0.5, 0.5], abs=0.15)
