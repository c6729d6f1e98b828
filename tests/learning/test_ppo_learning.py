"""PPO's results on whole environments, through the real launcher. `make learn` runs these."""

from __future__ import annotations

import pytest

from tests.learning.launching import greedy_return

pytestmark = [pytest.mark.learn, pytest.mark.timeout(1800)]

TUNED_CARTPOLE = [
    "--total-timesteps=100000",
    "--num-envs=8",
    "--num-steps=32",
    "--num-minibatches=1",
    "--update-epochs=20",
    "--gae-lambda=0.8",
    "--gamma=0.98",
    "--learning-rate=0.001",
    "--ent-coef=0.0",
]
EIGHT_FAST = ["--num-envs=8", "--learning-rate=0.001"]


def test_cartpole_with_cleanrls_defaults_in_three_of_three_seeds(tmp_path) -> None:
    returns = [greedy_return("ppo", tmp_path, f"--seed={seed}") for seed in (1, 2, 3)]
    assert min(returns) >= 480, returns


def test_cartpole_with_tuned_values_in_four_of_five_seeds(tmp_path) -> None:
    returns = [
        greedy_return("ppo", tmp_path, *TUNED_CARTPOLE, f"--seed={seed}") for seed in range(1, 6)
    ]
    assert sorted(returns)[1] >= 475, returns


def test_minigrid_empty(tmp_path) -> None:
    flags = ["--env-id=MiniGrid-Empty-5x5-v0", "--total-timesteps=30000", *EIGHT_FAST]
    assert greedy_return("ppo", tmp_path, *flags) >= 0.9


def test_minigrid_door_key(tmp_path) -> None:
    flags = ["--env-id=MiniGrid-DoorKey-5x5-v0", "--total-timesteps=100000", *EIGHT_FAST]
    assert greedy_return("ppo", tmp_path, *flags) >= 0.9


def test_inverted_pendulum(tmp_path) -> None:
    flags = ["--env-id=InvertedPendulum-v5", "--total-timesteps=200000"]
    assert greedy_return("ppo_continuous_action", tmp_path, *flags) >= 900
