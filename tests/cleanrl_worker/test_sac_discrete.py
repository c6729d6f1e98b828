"""The losses of soft actor-critics for discrete actions, sum by sum, and the entropy's weight."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import nn

from cleanrl_worker.algorithms import sac_discrete
from cleanrl_worker.algorithms.sac_discrete import Agent
from cleanrl_worker.entropy import EntropyWeight
from cleanrl_worker.optimisers import Adam
from cleanrl_worker.replay.buffer import Transitions

ROWS, GAMMA, ALPHA = 6, 0.9, 0.3
OBS, ACTIONS = spaces.Box(-1, 1, (2,)), spaces.Discrete(3)


def make_agent(seed: int = 1) -> Agent:
    torch.manual_seed(seed)
    return Agent(OBS, ACTIONS)


def transitions() -> Transitions:
    torch.manual_seed(3)
    return Transitions(
        obs=torch.randn(ROWS, 2),
        actions=torch.arange(ROWS) % 3,
        rewards=torch.randn(ROWS),
        next_obs=torch.randn(ROWS, 2),
        ends=torch.tensor([0.0, 1.0] * (ROWS // 2)),
    )


def probabilities(agent: Agent, obs: torch.Tensor) -> list[float]:
    powers = [math.exp(logit) for logit in agent.actor(obs[None])[0].tolist()]
    return [power / sum(powers) for power in powers]


def smaller_values(critics: nn.Module, obs: torch.Tensor) -> list[float]:
    first, second = critics(obs[None])
    return [min(pair) for pair in zip(first[0].tolist(), second[0].tolist(), strict=True)]


def test_critics_learn_the_expected_soft_values() -> None:
    agent, target, batch = make_agent(), make_agent(2).critics, transitions()

    found = sac_discrete.critic_losses(agent, target, batch, torch.tensor([ALPHA]), GAMMA)

    for number, critic in enumerate((agent.critics.qf1, agent.critics.qf2)):
        errors = []
        for row in range(ROWS):
            probs = probabilities(agent, batch.next_obs[row])
            values = smaller_values(target, batch.next_obs[row])
            soft = sum(p * (v - ALPHA * math.log(p)) for p, v in zip(probs, values, strict=True))
            wanted = float(batch.rewards[row]) + (0 if row % 2 else GAMMA * soft)
            taken = critic(batch.obs[row : row + 1])[0, row % 3].item()
            assert found[2 + number][row].item() == pytest.approx(taken, abs=1e-5)
            errors.append((taken - wanted) ** 2)
        assert found[number].item() == pytest.approx(sum(errors) / ROWS, abs=1e-4)


def test_the_actor_weighs_values_against_entropy() -> None:
    agent, batch = make_agent(), transitions()

    loss, log_probs = sac_discrete.actor_loss(agent, batch, torch.tensor([ALPHA]))
    loss.backward()

    expected = []
    for row in range(ROWS):
        probs = probabilities(agent, batch.obs[row])
        values = smaller_values(agent.critics, batch.obs[row])
        expected.append(
            sum(p * (ALPHA * math.log(p) - v) for p, v in zip(probs, values, strict=True))
        )
        assert log_probs[row].item() == pytest.approx(sum(p * math.log(p) for p in probs), abs=1e-5)
    assert loss.item() == pytest.approx(sum(expected) / ROWS, abs=1e-5)
    assert all(parameter.grad is None for parameter in agent.critics.parameters())


@pytest.mark.parametrize(("log_prob", "grows"), [(-0.2, True), (-1.5, False)])
def test_the_weight_grows_where_the_entropy_is_too_low(log_prob: float, grows: bool) -> None:
    logarithm = nn.Parameter(torch.zeros(1))
    weight = EntropyWeight(logarithm, Adam([logarithm], 0.1), 0.8, fixed=None)

    losses = weight.learn(torch.full((4,), log_prob))

    assert losses["losses/alpha_loss"].item() == pytest.approx(-(log_prob + 0.8))
    assert (weight.value().item() > 1) == grows


def test_a_fixed_weight_stays() -> None:
    logarithm = nn.Parameter(torch.zeros(1))
    weight = EntropyWeight(logarithm, Adam([logarithm], 0.1), 0.8, fixed=0.25)
    assert weight.learn(torch.zeros(4)) == {}
    assert weight.value().item() == 0.25


def test_a_policy_samples_by_its_probabilities() -> None:
    agent = make_agent()
    choose = sac_discrete.policy(agent, ACTIONS, torch.device("cpu"))
    obs = np.full((1, 2), 0.3, np.float32)
    probs = probabilities(agent, torch.from_numpy(obs[0]))

    sampled = choose(np.repeat(obs, 20_000, 0), np.random.default_rng(1))

    assert np.bincount(sampled, minlength=3) / 20_000 == pytest.approx(probs, abs=0.02)
    assert choose(obs, None).tolist() == [probs.index(max(probs))]
