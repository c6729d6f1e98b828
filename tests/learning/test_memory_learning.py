"""What is learned with a memory where nothing can be won without one. `make learn` runs these."""

from __future__ import annotations

from pathlib import Path

import pytest

from cleanrl_worker.recipes import RECIPES
from tests.learning.launching import greedy_return, spread

pytestmark = [pytest.mark.learn, pytest.mark.timeout(3600)]

SEEDS = (1, 2, 3)
EPISODES = 400  # half of them are won without a memory, so that ten say nothing
FLAGS = [
    "--env-id=ProofofMemory-v0",
    "--total-timesteps=50000",
    "--num-envs=16",
    "--num-steps=64",
    "--learning-rate=0.001",
]


def test_ppo_with_a_memory_is_better_than_without_by_more_than_seeds_differ(
    tmp_path: Path,
) -> None:
    recalling, forgetful = (
        [
            greedy_return(algo, tmp_path, *FLAGS, f"--seed={seed}", episodes=EPISODES)
            for seed in SEEDS
        ]
        for algo in ("ppo_atari_lstm", "ppo")
    )
    assert min(recalling) >= 1.0, recalling
    gap = min(recalling) - max(forgetful)
    assert gap > max(spread(recalling), spread(forgetful)), (recalling, forgetful)


def test_the_transformer_proves_its_memory(tmp_path: Path) -> None:
    (row,) = (row for row in RECIPES["ppo_trxl"].tuned if row.env_id == "ProofofMemory-v0")
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in row.values.items()]
    returns = [
        greedy_return("ppo_trxl", tmp_path, f"--env-id={row.env_id}", *flags, f"--seed={seed}")
        for seed in SEEDS
    ]
    assert min(returns) >= 1.0, returns
