"""Phasic policy gradient finds the known values and policies of probes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from cleanrl_worker.agents.inference import inference
from cleanrl_worker.agents.phasic import PhasicAgent
from cleanrl_worker.algorithms import ppg
from tests.learning import probes, training

SETTINGS: dict[str, Any] = {
    "num_envs": 8,
    "num_steps": 32,
    "num_minibatches": 4,
    "n_iteration": 4,
    "e_policy": 2,
    "learning_rate": 3e-3,
    "gamma": 0.5,
    "clip_vloss": False,
    "anneal_lr": False,
}
SEEDS = pytest.mark.parametrize("seed", [1, 2, 3])


def train(env: type[probes.Probe], seed: int, **changes: Any) -> training.Trained:
    return training.train(ppg, env, seed, 8_192, **SETTINGS | changes)


def values(trained: training.Trained, *observations: float) -> list[float]:
    found: list[float] = inference(trained.agent, training.CPU)(training.rows(*observations))[
        1
    ].tolist()
    return found


@SEEDS
def test_values_of_what_is_seen_are_learned_by_both_heads(seed: int) -> None:
    trained = train(probes.SignReward, seed)
    assert values(trained, -1.0, 1.0) == pytest.approx([-1.0, 1.0], abs=0.1)
    assert isinstance(trained.agent, PhasicAgent)
    auxiliary = trained.agent.with_auxiliary(torch.from_numpy(np.array([[-1.0], [1.0]], "f")))[2]
    assert auxiliary.tolist() == pytest.approx([-1.0, 1.0], abs=0.1)


@SEEDS
def test_values_are_discounted(seed: int) -> None:
    trained = train(probes.DelayedReward, seed)
    assert values(trained, -0.5, 0.5) == pytest.approx([0.5, 1.0], abs=0.1)


@SEEDS
def test_a_truncated_episode_is_bootstrapped(seed: int) -> None:
    trained = train(probes.EndlessReward, seed)
    assert values(trained, 1.0) == pytest.approx([2.0], abs=0.15)


@SEEDS
def test_the_policy_depends_on_the_observation(seed: int) -> None:
    assert train(probes.MatchTheSign, seed).actions(-1.0, 1.0) == [0, 1]
