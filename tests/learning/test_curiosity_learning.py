"""What curiosity finds where chance finds nothing. `make learn` runs this."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.learning.launching import greedy_return, spread

pytestmark = [pytest.mark.learn, pytest.mark.timeout(3600)]

SEEDS = (1, 2, 3)
FLAGS = [
    "--env-id=sea_game:DeepSea-v0",
    "--total-timesteps=300000",
    "--num-envs=16",
    "--num-steps=64",
    "--learning-rate=0.001",
]
OWN = {
    # An episode is 16 steps long: what is new a hundred steps ahead lies in the next ones.
    "ppo_rnd_envpool": ["--num-iterations-obs-norm-init=4", "--int-gamma=0.9"],
    "ppo": [],
}


def test_curiosity_finds_the_treasure_that_ppo_never_sees(playing: Path) -> None:
    returns = {
        algo: [greedy_return(algo, playing, *FLAGS, *own, f"--seed={seed}") for seed in SEEDS]
        for algo, own in OWN.items()
    }
    gap = min(returns["ppo_rnd_envpool"]) - max(returns["ppo"])
    assert gap > max(map(spread, returns.values())), returns
