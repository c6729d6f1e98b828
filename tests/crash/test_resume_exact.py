"""A run that was killed with SIGKILL goes on as if it had never stopped: bit for bit."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.crash.killing import (
    Outcome,
    Trial,
    rerun_the_end,
    run_killed,
    run_whole,
    seeded_moments,
)

SMALL_UPDATE = {"num_minibatches": 4, "update_epochs": 2}


def check_same(whole: Outcome, killed: Outcome) -> None:
    assert len(whole.points) > 50, "there is something to compare"
    assert killed.points == whole.points
    assert killed.model == whole.model
    assert killed.state == whole.state, "weights, optimiser, normaliser"
    assert killed.skeleton == whole.skeleton, "random states"


@pytest.mark.parametrize(
    ("trial", "moments"),
    [
        (Trial("ppo", "CartPole-v1", 12_288, 2_000, {"num_envs": 2}), [0.3, 0.6]),
        (
            Trial(
                "ppo_continuous_action",
                "Pendulum-v1",
                6_144,
                1_600,
                {"num_envs": 4, "num_steps": 128, **SMALL_UPDATE},
            ),
            [0.5],
        ),
    ],
    ids=["ppo", "ppo_continuous_action"],
)
@pytest.mark.timeout(300)
def test_killed_and_resumed_is_as_never_killed(
    trial: Trial, moments: list[float], tmp_path: Path
) -> None:
    whole = run_whole(trial, tmp_path / "whole")
    killed = run_killed(trial, tmp_path / "killed", moments)
    check_same(whole, killed)
    if trial.algo == "ppo_continuous_action":
        # Its normaliser is part of the model, and takes in what it is shown at a start.
        assert rerun_the_end(trial, tmp_path / "whole") == whole.model


# Intervals are close to the shortest that each environment's episodes allow.
LONG_TRIALS = [
    Trial("ppo", "CartPole-v1", 60_000, 4_000),
    Trial("ppo", "LunarLander-v3", 80_000, 8_000),
    Trial("ppo", "MiniGrid-Empty-5x5-v0", 30_000, 2_000, {"num_envs": 8}),
    Trial("ppo_continuous_action", "HalfCheetah-v5", 24_576, 2_048),
    Trial("ppo_continuous_action", "BipedalWalker-v3", 32_768, 3_200),
]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("trial", LONG_TRIALS, ids=lambda trial: trial.env_id)
def test_ten_kills(trial: Trial, tmp_path: Path) -> None:
    started = time.monotonic()
    whole = run_whole(trial, tmp_path / "whole")
    between = time.monotonic()
    killed = run_killed(trial, tmp_path / "killed", seeded_moments(seed=3, count=10))
    ended = time.monotonic()
    check_same(whole, killed)
    print(
        f"\n{trial.algo} {trial.env_id}: {trial.total_timesteps} steps, "
        f"killed at {' '.join(map(str, killed.kills))}; {len(whole.points)} points, "
        f"{len(whole.model)} bytes of weights and {len(whole.state)} of state are the same; "
        f"{between - started:.0f} s whole, {ended - between:.0f} s killed"
    )
