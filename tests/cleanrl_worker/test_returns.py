"""Return estimators against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from cleanrl_worker.returns import generalised_advantages


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
