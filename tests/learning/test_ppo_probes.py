"""PPO finds the known values and policies of the probes."""

from __future__ import annotations

from typing import Any

import pytest

from cleanrl_worker.agents.inference import inference
from cleanrl_worker.algorithms import ppo
from tests.learning import probes, training

SETTINGS: dict[str, Any] = {
    "num_envs": 8,
    "num_steps": 32,
    "learning_rate": 3e-3,
    "gamma": 0.5,
    "clip_vloss": False,
}


def train(env: type[probes.Probe], seed: int, steps: int = 8_000) -> training.Trained:
    return training.train(ppo, env, seed, steps, **SETTINGS)


def values_of(trained: training.Trained, *observations: float) -> list[float]:
    forward = inference(trained.agent, training.CPU)
    values: list[float] = forward(training.rows(*observations))[1].tolist()
    return values


SEEDS = pytest.mark.parametrize("seed", [1, 2, 3])


@SEEDS
def test_the_value_of_a_constant_reward(seed: int) -> None:
    trained = train(probes.ConstantReward, seed)
    assert values_of(trained, -1.0, 1.0) == pytest.approx([1.0, 1.0], abs=0.1)


@SEEDS
def test_the_value_depends_on_the_observation(seed: int) -> None:
    trained = train(probes.SignReward, seed)
    assert values_of(trained, -1.0, 1.0) == pytest.approx([-1.0, 1.0], abs=0.15)


@SEEDS
def test_a_later_reward_is_discounted(seed: int) -> None:
    trained = train(probes.DelayedReward, seed)
    assert values_of(trained, -0.5, 0.5) == pytest.approx([0.5, 1.0], abs=0.1)


@SEEDS
def test_a_truncated_episode_is_bootstrapped(seed: int) -> None:
    trained = train(probes.EndlessReward, seed)
    assert values_of(trained, 1.0) == pytest.approx([2.0], abs=0.15)


@SEEDS
def test_the_policy_depends_on_the_observation(seed: int) -> None:
    assert train(probes.MatchTheSign, seed).actions(-1.0, 1.0) == [0, 1]


@SEEDS
def test_a_continuous_policy_depends_on_the_observation(seed: int) -> None:
    trained = train(probes.ReachTheSign, seed, steps=20_000)
    (low,), (high,) = trained.actions(-1.0, 1.0)
    assert [low, high] == pytest.approx([-0.5, 0.5], abs=0.15)
