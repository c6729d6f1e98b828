"""Value-based and continuous algorithms find the known values and policies of the probes."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import pytest
import torch

from cleanrl_worker.algorithms import c51, ddpg, dqn, pqn, rainbow, sac, sac_discrete, td3
from tests.learning import probes, training

SEEDS = pytest.mark.parametrize("seed", [1, 2, 3])

REPLAY: dict[str, Any] = {
    "num_envs": 4,
    "learning_rate": 3e-3,
    "gamma": 0.5,
    "buffer_size": 2_000,
    "batch_size": 32,
    "learning_starts": 100,
    "train_frequency": 4,
    "target_network_frequency": 50,
}
ATOMS = {"n_atoms": 31, "v_min": -3.0, "v_max": 3.0}
ROLLOUTS: dict[str, Any] = {
    "num_envs": 8,
    "num_steps": 16,
    "learning_rate": 3e-3,
    "gamma": 0.5,
    "exploration_fraction": 0.2,
}
VALUE_BASED = {
    "dqn": (dqn, 4_000, REPLAY),
    "c51": (c51, 4_000, REPLAY | ATOMS),
    "pqn": (pqn, 8_000, ROLLOUTS),
    "rainbow": (rainbow, 2_000, REPLAY | ATOMS),
}
EVERY_VALUE_BASED = pytest.mark.parametrize("name", VALUE_BASED)

CONTINUOUS_SETTINGS: dict[str, Any] = {
    "num_envs": 4,
    "gamma": 0.5,
    "buffer_size": 2_000,
    "batch_size": 64,
    "learning_starts": 200,
}
CONTINUOUS = {
    "ddpg": (ddpg, {"learning_rate": 1e-3}),
    "td3": (td3, {"learning_rate": 1e-3}),
    "sac": (sac, {"policy_lr": 1e-3}),
}


SOFT: dict[str, Any] = {
    "num_envs": 4,
    "gamma": 0.5,
    "policy_lr": 3e-4,  # ten times that is sure of an action before the values are known
    "q_lr": 3e-3,
    "buffer_size": 2_000,
    "learning_starts": 100,
    "target_network_frequency": 50,
}


def train_value_based(name: str, env: type[probes.Probe], seed: int) -> training.Trained:
    algorithm, steps, settings = VALUE_BASED[name]
    return training.train(algorithm, env, seed, steps, **settings)


def best_values(name: str, trained: training.Trained, *observations: float) -> list[float]:
    algorithm: ModuleType = VALUE_BASED[name][0]
    values = algorithm.q_values_of(trained.agent, training.CPU)(training.rows(*observations))
    best: list[float] = values.max(-1).tolist()
    return best


@SEEDS
@EVERY_VALUE_BASED
def test_the_policy_depends_on_the_observation(name: str, seed: int) -> None:
    assert train_value_based(name, probes.MatchTheSign, seed).actions(-1.0, 1.0) == [0, 1]


@SEEDS
@EVERY_VALUE_BASED
def test_a_later_reward_is_discounted(name: str, seed: int) -> None:
    trained = train_value_based(name, probes.DelayedReward, seed)
    assert best_values(name, trained, -0.5, 0.5) == pytest.approx([0.5, 1.0], abs=0.15)


@SEEDS
@EVERY_VALUE_BASED
def test_a_truncated_episode_is_bootstrapped(name: str, seed: int) -> None:
    trained = train_value_based(name, probes.EndlessReward, seed)
    assert best_values(name, trained, 1.0) == pytest.approx([2.0], abs=0.25)


@SEEDS
@pytest.mark.parametrize("name", CONTINUOUS)
def test_a_continuous_policy_depends_on_the_observation(name: str, seed: int) -> None:
    algorithm, settings = CONTINUOUS[name]
    trained = training.train(
        algorithm, probes.ReachTheSign, seed, 1_500, **CONTINUOUS_SETTINGS, **settings
    )
    (low,), (high,) = trained.actions(-1.0, 1.0)
    assert [low, high] == pytest.approx([-0.5, 0.5], abs=0.2)


@SEEDS
def test_a_soft_policy_of_discrete_actions_depends_on_the_observation(seed: int) -> None:
    trained = training.train(sac_discrete, probes.MatchTheSign, seed, 1_500, **SOFT)
    assert trained.actions(-1.0, 1.0) == [0, 1]


@SEEDS
def test_soft_values_bootstrap_a_truncated_episode_and_count_the_entropy(seed: int) -> None:
    alpha = {"autotune": False, "alpha": 0.5}
    trained = training.train(sac_discrete, probes.EndlessReward, seed, 2_000, **SOFT, **alpha)
    with torch.no_grad():
        values = trained.agent.critics.qf1(torch.ones(1, 1))[0]
    # All actions pay the same, so that a state is worth its values and the whole entropy.
    expected = (1 + 0.5 * 0.5 * math.log(2)) / (1 - 0.5)
    assert values.tolist() == pytest.approx([expected] * 2, abs=0.05)
