"""Return estimators against brute force."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cleanrl_worker.returns import (
    generalised_advantages,
    project_onto_atoms,
    q_lambda_returns,
)


def brute_force(rewards, values, terminated, truncated, final_values, last, gamma, lam):
    """Sum the discounted temporal differences of every later step of the same episode."""
    steps, envs = rewards.shape
    advantages = np.zeros((steps, envs))
    for env in range(envs):
        for start in range(steps):
            weight = 1.0
            for t in range(start, steps):
                if terminated[t, env]:
                    after = 0.0
                elif truncated[t, env]:
                    after = final_values[t, env]
                else:
                    after = values[t + 1, env] if t + 1 < steps else last[env]
                delta = rewards[t, env] + gamma * after - values[t, env]
                advantages[start, env] += weight * delta
                weight *= gamma * lam
                if terminated[t, env] or truncated[t, env]:
                    break
    return advantages


@pytest.mark.parametrize("seed", range(20))
def test_advantages_equal_the_sum_over_each_episode(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 30)), int(rng.integers(1, 5)))
    rewards, values, final_values = rng.normal(size=(3, *shape)).astype(np.float32)
    last = rng.normal(size=shape[1]).astype(np.float32)
    terminated = rng.random(shape) < 0.15
    truncated = (rng.random(shape) < 0.15) & ~terminated
    gamma, lam = rng.uniform(0.8, 1.0, 2)

    bootstrapped = rewards + np.float32(gamma) * truncated * final_values
    found = generalised_advantages(
        bootstrapped, values, terminated | truncated, last, gamma=gamma, gae_lambda=lam
    )

    expected = brute_force(rewards, values, terminated, truncated, final_values, last, gamma, lam)
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_lambda_one_is_the_discounted_return_minus_the_value() -> None:
    rewards = np.array([[1.0], [1.0], [1.0]], np.float32)
    values = np.array([[0.5], [0.25], [2.0]], np.float32)
    ends = np.array([[False], [False], [True]])

    advantages = generalised_advantages(
        rewards, values, ends, np.array([9.0], np.float32), gamma=0.5, gae_lambda=1.0
    )

    np.testing.assert_allclose(advantages[:, 0], [1.75 - 0.5, 1.5 - 0.25, 1.0 - 2.0])


@pytest.mark.parametrize("seed", range(10))
def test_q_lambda_targets_equal_the_mixture_of_all_n_step_returns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps, gamma, lam = 12, 0.9, 0.65
    rewards, next_values = rng.normal(size=(2, steps, 1)).astype(np.float32)
    ends = rng.random((steps, 1)) < 0.2

    found = q_lambda_returns(rewards, next_values, ends, gamma=gamma, q_lambda=lam)

    for start in range(steps):
        assert found[start, 0] == pytest.approx(
            n_step_mixture(rewards[:, 0], next_values[:, 0], ends[:, 0], start, gamma, lam),
            abs=1e-4,
        )


def n_step_mixture(rewards, next_values, ends, start, gamma, lam):
    """Weigh the n-step returns by (1 - lambda) lambda^(n - 1), the last one by what is left."""
    total, weight, collected, discount = 0.0, 1.0, 0.0, 1.0
    for t in range(start, len(rewards)):
        collected += discount * rewards[t]
        discount *= gamma
        if ends[t]:
            return total + weight * collected
        is_last = t == len(rewards) - 1
        share = weight if is_last else weight * (1 - lam)
        total += share * (collected + discount * next_values[t])
        weight *= lam
    return total


@pytest.mark.parametrize("seed", range(10))
def test_the_projection_shares_each_probability_between_its_neighbours(seed: int) -> None:
    rng = np.random.default_rng(seed)
    atoms = np.linspace(-3, 3, 13)
    probabilities = rng.dirichlet(np.ones(13), size=4)
    returns = rng.uniform(-4, 4, size=(4, 13))
    returns[0] = atoms  # exactly on the atoms

    found = project_onto_atoms(
        torch.tensor(probabilities), torch.tensor(returns), torch.tensor(atoms)
    ).numpy()

    expected = np.zeros((4, 13))
    for row in range(4):
        for probability, value in zip(probabilities[row], returns[row], strict=True):
            clipped = min(max(value, -3.0), 3.0)
            # Bellemare et al. 2017, eq. 7: a triangle of the spacing's width around each atom.
            expected[row] += probability * np.clip(1 - np.abs(clipped - atoms) / 0.5, 0, 1)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(found.sum(1), 1.0)
