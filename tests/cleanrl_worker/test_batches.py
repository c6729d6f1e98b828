"""The arithmetic of rollouts refuses what cannot be trained, and says what can."""

from __future__ import annotations

import pytest

from cleanrl_worker.algorithms.batches import check_batches, check_sequences
from cleanrl_worker.cuts import resolve_interval
from mosaic.contracts.errors import ConfigError


def test_minibatches_must_divide_the_batch() -> None:
    with pytest.raises(ConfigError) as error:
        check_batches(num_envs=4, num_steps=128, num_minibatches=6, total_timesteps=10_000)

    assert error.value.message == (
        "num_minibatches=6 does not divide batch_size=512 (4 envs x 128 steps). Use 4 or 8."
    )


def test_a_budget_below_one_batch_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"total_timesteps=100 is smaller than one batch of 512"):
        check_batches(num_envs=4, num_steps=128, num_minibatches=4, total_timesteps=100)


def test_sequences_are_not_split_between_minibatches() -> None:
    with pytest.raises(ConfigError) as error:
        check_sequences(num_envs=8, num_steps=128, num_minibatches=16, total_timesteps=10_000)

    assert error.value.message == (
        "num_minibatches=16 does not divide num_envs=8: a minibatch is made of whole sequences, "
        "one an environment. Use 8."
    )
    check_sequences(num_envs=8, num_steps=128, num_minibatches=8, total_timesteps=10_000)


def test_the_usual_interval_is_a_tenth_of_the_run_unless_episodes_are_longer() -> None:
    assert resolve_interval(None, 500_000, 500, 4) == 50_000
    assert resolve_interval(None, 10_000, 500, 4) == 4_000
    assert resolve_interval(None, 10_000, None, 4) == 1_000


def test_an_interval_that_no_episode_survives_is_refused_with_the_numbers() -> None:
    with pytest.raises(ConfigError) as error:
        resolve_interval(1_000, 500_000, 500, 8)

    assert error.value.message == (
        "checkpoint_interval=1000 is too short: episodes last up to 500 steps in 8 environments. "
        "Use at least 8000."
    )
