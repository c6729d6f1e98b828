"""The JAX algorithms find the known values and policies of the probes, as their torch twins do.

One seed each: the losses are the twins' own, so it is the loop around them that is tried here.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from cleanrl_worker.algorithms import c51_jax, ddpg_jax, dqn_jax, td3_jax
from tests.learning import probes, training
from tests.learning.test_off_policy_probes import ATOMS, CONTINUOUS_SETTINGS, REPLAY

VALUE_BASED: dict[str, tuple[ModuleType, dict[str, object]]] = {
    "dqn_jax": (dqn_jax, REPLAY),
    "c51_jax": (c51_jax, REPLAY | ATOMS),
}
EVERY_VALUE_BASED = pytest.mark.parametrize("name", VALUE_BASED)


def train_value_based(name: str, env: type[probes.Probe]) -> training.Trained:
    algorithm, settings = VALUE_BASED[name]
    np.random.seed(1)
    return training.train(algorithm, env, 1, 4_000, **settings)


def best_values(name: str, trained: training.Trained, *observations: float) -> list[float]:
    q_values = VALUE_BASED[name][0].q_values_of(trained.agent, training.CPU)
    best: list[float] = q_values(training.rows(*observations)).max(-1).tolist()
    return best


@EVERY_VALUE_BASED
def test_the_policy_depends_on_the_observation(name: str) -> None:
    assert train_value_based(name, probes.MatchTheSign).actions(-1.0, 1.0) == [0, 1]


@EVERY_VALUE_BASED
def test_a_later_reward_is_discounted(name: str) -> None:
    trained = train_value_based(name, probes.DelayedReward)
    assert best_values(name, trained, -0.5, 0.5) == pytest.approx([0.5, 1.0], abs=0.15)


@EVERY_VALUE_BASED
def test_a_truncated_episode_is_bootstrapped(name: str) -> None:
    trained = train_value_based(name, probes.EndlessReward)
    assert best_values(name, trained, 1.0) == pytest.approx([2.0], abs=0.25)


@pytest.mark.parametrize("algorithm", [ddpg_jax, td3_jax], ids=["ddpg_jax", "td3_jax"])
def test_a_continuous_policy_depends_on_the_observation(algorithm: ModuleType) -> None:
    np.random.seed(1)
    settings = CONTINUOUS_SETTINGS | {"learning_rate": 1e-3}
    trained = training.train(algorithm, probes.ReachTheSign, 1, 1_500, **settings)
    (low,), (high,) = trained.actions(-1.0, 1.0)
    assert [low, high] == pytest.approx([-0.5, 0.5], abs=0.2)
