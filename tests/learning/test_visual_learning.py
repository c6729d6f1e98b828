"""What is learned from pictures in few steps. `make learn` runs this."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.learning.launching import greedy_return, spread

pytestmark = [pytest.mark.learn, pytest.mark.timeout(3600)]

SEEDS = (1, 2, 3)
EPISODES = 200  # a catch pays 1 and a miss -1, so that ten say too little
OWN = {
    "dqn_atari": ["--exploration-fraction=0.3"],
    "rainbow_atari": ["--v-min=-2", "--v-max=2"],
}
# Deep Q-learning takes a value one step back with each target: with the targets of steps 1,000 to
# 17,000 not to the choice, 21 steps before the reward. Rainbow's windows take it three steps back.
REEL_FLAGS = [
    "--env-id=reel_game:Reels-v0",
    "--total-timesteps=18000",
    "--num-envs=8",
    "--learning-rate=0.00025",
    "--buffer-size=16000",
    "--learning-starts=500",
    "--train-frequency=8",
    "--target-network-frequency=1000",
    "--checkpoint-replay=none",
]
REEL_OWN = {
    "dqn_atari": ["--exploration-fraction=0.3"],
    "rainbow_atari": ["--v-min=-1", "--v-max=1"],
}


def catching(steps: int) -> list[str]:
    """Return the settings with which the game of catching is learned in so many steps."""
    return [
        "--env-id=catch_game:Catch-v0",
        f"--total-timesteps={steps}",
        "--num-envs=8",
        "--learning-rate=0.00025",
        f"--buffer-size={steps}",
        "--learning-starts=500",
        "--train-frequency=8",
        "--target-network-frequency=400",
        "--checkpoint-replay=none",
    ]


def play_both(
    directory: Path, flags: list[str], own: dict[str, list[str]]
) -> tuple[list[float], list[float]]:
    """Return what Rainbow's seeds and DQN's earn after their training."""
    rainbow, dqn = (
        [
            greedy_return(algo, directory, *flags, *own[algo], f"--seed={seed}", episodes=EPISODES)
            for seed in SEEDS
        ]
        for algo in ("rainbow_atari", "dqn_atari")
    )
    return rainbow, dqn


@pytest.mark.xfail(
    strict=False,
    reason="at 8,000 steps, seeds 1 to 3: DQN 0.43, -0.13, 0.72, Rainbow 0.31, 0.55, -0.10",
)
def test_rainbow_catches_more_than_dqn_by_more_than_seeds_differ(playing: Path) -> None:
    rainbow, dqn = play_both(playing, catching(8000), OWN)

    assert min(rainbow) - max(dqn) > max(spread(rainbow), spread(dqn)), (rainbow, dqn)


def test_rainbow_sees_where_reels_end_and_dqn_guesses(playing: Path) -> None:
    """By a gap that is larger than what the seeds of either differ by; 18,000 steps each."""
    rainbow, dqn = play_both(playing, REEL_FLAGS, REEL_OWN)

    assert min(rainbow) >= 0.9, rainbow
    assert min(rainbow) - max(dqn) > max(spread(rainbow), spread(dqn)), (rainbow, dqn)
