"""What is learned from pictures in few steps. `make learn` runs this."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.learning.launching import greedy_return, spread

pytestmark = [pytest.mark.learn, pytest.mark.timeout(3600)]

SEEDS = (1, 2, 3)
EPISODES = 200  # a catch pays 1 and a miss -1, so that ten say too little
FLAGS = [
    "--env-id=catch_game:Catch-v0",
    "--total-timesteps=8000",
    "--num-envs=8",
    "--learning-rate=0.00025",
    "--buffer-size=8000",
    "--learning-starts=500",
    "--train-frequency=8",
    "--target-network-frequency=400",
    "--checkpoint-replay=none",
]
OWN = {
    "dqn_atari": ["--exploration-fraction=0.3"],
    "rainbow_atari": ["--v-min=-2", "--v-max=2"],
}


@pytest.mark.xfail(
    strict=False,
    reason="at 8,000 steps, seeds 1 to 3: DQN 0.43, -0.13, 0.72, Rainbow 0.31, 0.55, -0.10",
)
def test_rainbow_catches_more_than_dqn_by_more_than_seeds_differ(playing: Path) -> None:
    returns = {
        algo: [
            greedy_return(algo, playing, *FLAGS, *own, f"--seed={seed}", episodes=EPISODES)
            for seed in SEEDS
        ]
        for algo, own in OWN.items()
    }
    gap = min(returns["rainbow_atari"]) - max(returns["dqn_atari"])
    assert gap > max(map(spread, returns.values())), returns
