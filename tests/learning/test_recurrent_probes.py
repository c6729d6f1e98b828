"""PPO with a memory finds what can only be found with one, and PPO without does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cleanrl_worker.agents.recurrent import advancing, empty_state
from cleanrl_worker.algorithms import ppo, ppo_lstm, ppo_trxl, pqn_lstm
from cleanrl_worker.policies import begin_episode
from tests.learning import probes, training

SETTINGS: dict[str, Any] = {
    "num_envs": 8,
    "num_steps": 32,
    "learning_rate": 3e-3,
    "gamma": 0.5,
    "clip_vloss": False,
}
TRANSFORMER: dict[str, Any] = {
    "num_envs": 8,
    "num_steps": 32,
    "num_minibatches": 4,
    "update_epochs": 4,
    "init_lr": 2e-3,
    "gamma": 0.9,
    "clip_coef": 0.2,
    "init_ent_coef": 0.01,
    "max_grad_norm": 0.5,
    "trxl_num_layers": 2,
    "trxl_num_heads": 2,
    "trxl_dim": 32,
    "trxl_memory_length": 4,
}
VALUES: dict[str, Any] = {
    "num_envs": 8,
    "num_steps": 32,
    "learning_rate": 3e-3,
    "gamma": 0.9,
    "end_e": 0.1,
    "exploration_fraction": 0.5,
}
SEEDS = pytest.mark.parametrize("seed", [1, 2, 3])


def last_actions(trained: training.Trained) -> list[int]:
    """Return what is done in the end of two episodes, which show -1 and 1 in the beginning."""
    begin_episode(trained.choose)
    for number in range(probes.RecallTheSign.length):
        signs = (-1.0, 1.0) if number == 0 else (0.0, 0.0)
        actions: list[int] = trained.choose(training.rows(*signs), None).tolist()
    return actions


@SEEDS
def test_ppo_with_a_memory_recalls_what_it_saw(seed: int) -> None:
    trained = training.train(ppo_lstm, probes.RecallTheSign, seed, 8_000, **SETTINGS)
    assert last_actions(trained) == [0, 1]
    assert last_actions(trained) == [0, 1], "a new episode begins with nothing remembered"


@SEEDS
def test_a_transformer_recalls_it_too(seed: int) -> None:
    trained = training.train(ppo_trxl, probes.RecallTheSign, seed, 8_000, **TRANSFORMER)
    assert last_actions(trained) == [0, 1]
    assert last_actions(trained) == [0, 1], "a new episode begins with nothing remembered"


@SEEDS
def test_so_does_a_q_network_with_a_memory(seed: int) -> None:
    trained = training.train(pqn_lstm, probes.RecallTheSign, seed, 12_000, **VALUES)
    assert last_actions(trained) == [0, 1]
    assert last_actions(trained) == [0, 1], "a new episode begins with nothing remembered"


def test_ppo_without_a_memory_cannot() -> None:
    trained = training.train(ppo, probes.RecallTheSign, 1, 8_000, **SETTINGS)
    assert len(set(last_actions(trained))) == 1


@SEEDS
def test_a_truncated_episode_is_bootstrapped_with_its_state(seed: int) -> None:
    trained = training.train(ppo_lstm, probes.EndlessReward, seed, 8_000, **SETTINGS)
    assert values_along(trained, 4) == pytest.approx([2.0] * 4, abs=0.15)


def values_along(trained: training.Trained, steps: int) -> list[float]:
    advance, state, values = (
        advancing(trained.agent, training.CPU),
        empty_state(1, training.CPU),
        [],
    )
    for _ in range(steps):
        _, value, state = advance(np.ones((1, 1), np.float32), state)
        values.append(float(value[0]))
    return values
