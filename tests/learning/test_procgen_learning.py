"""Phasic policy gradient beside PPO: a quarter of an hour on a GPU. `make learn` runs it there."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.learning.launching import launch, spread

pytestmark = [
    pytest.mark.learn,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]

SEEDS = (1, 2, 3)
GAME = ["--env-id=starpilot", "--cuda", "--cudagraphs", "--total-timesteps=1048576"]
LAST_EPISODES = 500


def test_phases_win_more_of_starpilot(tmp_path: Path) -> None:
    """Budget: 1,048,576 steps, in which PPG has eight phases of 131,072."""
    phasic = [_earned("ppg_procgen", tmp_path, seed, "--n-iteration=8") for seed in SEEDS]
    plain = [_earned("ppo_procgen", tmp_path, seed) for seed in SEEDS]

    gap = (sum(phasic) - sum(plain)) / len(SEEDS)
    assert min(phasic) > max(plain), (phasic, plain)
    assert gap > max(spread(phasic), spread(plain)), (phasic, plain)


def _earned(algo: str, directory: Path, seed: int, *flags: str) -> float:
    """Train, and return the mean return of the last training episodes."""
    run = launch(algo, directory, *GAME, *flags, f"--seed={seed}")
    returns = run.points("charts/episodic_return")[-LAST_EPISODES:]
    print(f"{algo}, seed {seed}: {sum(returns) / len(returns):.2f} in training")
    return sum(returns) / len(returns)
