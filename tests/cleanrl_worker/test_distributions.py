"""Action distributions against torch's own."""

from __future__ import annotations

import numpy as np
import torch
from gymnasium import spaces

from cleanrl_worker.distributions import Branches, Categorical, DiagonalGaussian, distribution_for


def test_a_discrete_space_is_sampled_as_its_logits_say() -> None:
    distribution = distribution_for(spaces.Discrete(3))
    logits = np.log(np.array([[0.2, 0.5, 0.3]], np.float32)).repeat(50_000, 0)

    actions = distribution.sample(logits, distribution.noise(np.random.default_rng(0), 50_000))

    shares = np.bincount(actions, minlength=3) / len(actions)
    np.testing.assert_allclose(shares, [0.2, 0.5, 0.3], atol=0.01)
    assert distribution.mode(logits[:1]).tolist() == [1]


def test_categorical_log_probs_and_entropies_are_torchs() -> None:
    outputs, actions = torch.randn(64, 5), torch.randint(5, (64,))
    log_probs, entropies = Categorical(spaces.Discrete(5)).log_prob_and_entropy(outputs, actions)

    reference = torch.distributions.Categorical(logits=outputs)
    torch.testing.assert_close(log_probs, reference.log_prob(actions))
    torch.testing.assert_close(entropies, reference.entropy())


def test_a_box_is_sampled_around_its_means() -> None:
    distribution = distribution_for(spaces.Box(-1, 1, (2,)))
    outputs = np.array([[1.0, -2.0, np.log(0.5), np.log(2.0)]], np.float32).repeat(50_000, 0)

    actions = distribution.sample(outputs, distribution.noise(np.random.default_rng(0), 50_000))

    np.testing.assert_allclose(actions.mean(0), [1.0, -2.0], atol=0.05)
    np.testing.assert_allclose(actions.std(0), [0.5, 2.0], atol=0.05)
    assert distribution.mode(outputs[:1]).tolist() == [[1.0, -2.0]]


def test_gaussian_log_probs_and_entropies_are_torchs() -> None:
    outputs, actions = torch.randn(64, 6), torch.randn(64, 3)
    gaussian = DiagonalGaussian(spaces.Box(-1, 1, (3,)))
    log_probs, entropies = gaussian.log_prob_and_entropy(outputs, actions)

    reference = torch.distributions.Normal(outputs[:, :3], outputs[:, 3:].exp())
    torch.testing.assert_close(log_probs, reference.log_prob(actions).sum(-1))
    torch.testing.assert_close(entropies, reference.entropy().sum(-1))


def test_branches_are_chosen_independently() -> None:
    distribution = distribution_for(spaces.MultiDiscrete([2, 3]))
    shares = np.array([[0.1, 0.9, 0.2, 0.5, 0.3]], np.float32)
    logits = np.log(shares).repeat(50_000, 0)

    actions = distribution.sample(logits, distribution.noise(np.random.default_rng(0), 50_000))

    assert actions.shape == (50_000, 2)
    found = [np.bincount(actions[:, 0]), np.bincount(actions[:, 1])]
    np.testing.assert_allclose(np.concatenate(found) / 50_000, shares[0], atol=0.01)
    assert distribution.mode(logits[:1]).tolist() == [[1, 1]]


def test_a_branched_actions_log_prob_and_entropy_are_those_of_its_branches_together() -> None:
    outputs = torch.randn(64, 5)
    actions = torch.stack((torch.randint(2, (64,)), torch.randint(3, (64,))), 1)
    branches = Branches(spaces.MultiDiscrete([2, 3]))
    log_probs, entropies = branches.log_prob_and_entropy(outputs, actions)

    first = torch.distributions.Categorical(logits=outputs[:, :2])
    second = torch.distributions.Categorical(logits=outputs[:, 2:])
    expected = first.log_prob(actions[:, 0]) + second.log_prob(actions[:, 1])
    torch.testing.assert_close(log_probs, expected)
    torch.testing.assert_close(branches.log_prob(outputs, actions), expected)
    torch.testing.assert_close(entropies, first.entropy() + second.entropy())
