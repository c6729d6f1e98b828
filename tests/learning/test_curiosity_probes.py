"""PPO with curiosity finds the known values and policies of probes, and tells new from known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from cleanrl_worker.agents.distillation import Distillation
from cleanrl_worker.agents.inference import inference
from cleanrl_worker.algorithms import ppo_rnd
from cleanrl_worker.channel import Channel
from cleanrl_worker.envs.sync import SyncEnvs
from cleanrl_worker.recording import Run
from tests.learning import probes, training

SETTINGS: dict[str, Any] = {
    "num_envs": 8,
    "num_steps": 32,
    "learning_rate": 3e-3,
    "gamma": 0.5,
    "clip_vloss": False,
    "num_iterations_obs_norm_init": 1,
}
SEEDS = pytest.mark.parametrize("seed", [1, 2, 3])


def train(env: type[probes.Probe], seed: int, **changes: Any) -> training.Trained:
    return training.train(ppo_rnd, env, seed, 8_000, **SETTINGS | changes)


def extrinsic_values(trained: training.Trained, *observations: float) -> list[float]:
    forward = inference(trained.agent, training.CPU)
    values: list[float] = forward(training.rows(*observations))[1][:, 0].tolist()
    return values


@SEEDS
def test_extrinsic_values_end_with_an_episode(seed: int) -> None:
    trained = train(probes.DelayedReward, seed)
    assert extrinsic_values(trained, -0.5, 0.5) == pytest.approx([0.5, 1.0], abs=0.1)


@SEEDS
def test_a_truncated_episode_is_bootstrapped(seed: int) -> None:
    trained = train(probes.EndlessReward, seed)
    assert extrinsic_values(trained, 1.0) == pytest.approx([2.0], abs=0.15)


@SEEDS
def test_the_policy_depends_on_the_observation(seed: int) -> None:
    assert train(probes.MatchTheSign, seed).actions(-1.0, 1.0) == [0, 1]


@SEEDS
def test_what_was_seen_becomes_known_and_the_rest_stays_new(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Distillation] = []

    class Kept(Distillation):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(ppo_rnd, "Distillation", Kept)
    torch.manual_seed(seed)
    config = ppo_rnd.Config(**SETTINGS)
    envs = SyncEnvs(lambda index: probes.SignReward(), config.num_envs, env_id="SignReward")
    agent = ppo_rnd.build(config, envs)
    run = Run(total_timesteps=8_000, seed=seed, channel=Channel(None))
    ppo_rnd.train(run, config, envs, agent, training.CPU)

    known, new = ppo_rnd.judge(made[0], training.CPU)(np.array([[1.0], [4.0]], np.float32))
    assert known < 0.1 * new
