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


STAR_FLAGS = [
    "--env-id=star_game:Star-v0",
    "--total-timesteps=11000",
    "--num-envs=8",
    "--learning-rate=0.0005",
    "--gamma=0.9",  # rewards come two steps after the act
    "--buffer-size=16000",
    "--learning-starts=500",
    "--train-frequency=32",
    "--target-network-frequency=400",
    "--checkpoint-replay=none",
]
STAR_OWN = {
    "dqn_atari": ["--exploration-fraction=0.3"],
    "rainbow_atari": ["--v-min=-1", "--v-max=1"],
}


def check_gap(directory: Path, flags: list[str], own: dict[str, list[str]]) -> None:
    """Check that Rainbow gets more than DQN by more than the seeds of either differ."""
    returns = {
        algo: [
            greedy_return(algo, directory, *flags, *values, f"--seed={seed}", episodes=EPISODES)
            for seed in SEEDS
        ]
        for algo, values in own.items()
    }
    gap = min(returns["rainbow_atari"]) - max(returns["dqn_atari"])
    assert gap > max(map(spread, returns.values())), returns


@pytest.mark.xfail(
    strict=False,
    reason="at 8,000 steps, seeds 1 to 3: DQN 0.43, -0.13, 0.72, Rainbow 0.31, 0.55, -0.10",
)
def test_rainbow_catches_more_than_dqn_by_more_than_seeds_differ(playing: Path) -> None:
    check_gap(playing, FLAGS, OWN)


@pytest.mark.xfail(
    strict=False,
    reason="at 11,000 steps, seeds 1 to 3: DQN -0.68, 0.08, 0.63, Rainbow 1.00, 0.62, 0.62",
)
def test_rainbow_sees_more_stars_than_dqn_by_more_than_seeds_differ(playing: Path) -> None:
    check_gap(playing, STAR_FLAGS, STAR_OWN)
