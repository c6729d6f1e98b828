"""What is learned of Procgen's games in few steps. `make learn` runs this."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.learning.launching import spread, training_return

pytestmark = [pytest.mark.learn, pytest.mark.timeout(3600), pytest.mark.needs_system("qt5")]

SEEDS = (1, 2, 3)
EPISODES = 30
# A four thousandth of CleanRL's budget: what two cores bear in ten minutes when nothing else runs.
FLAGS = [
    "--env-id=starpilot",
    "--total-timesteps=6144",
    "--num-envs=16",
    "--num-steps=64",
    "--no-save-model",
]
OWN = {"ppo_procgen": [], "ppg_procgen": ["--n-iteration=3", "--e-auxiliary=2"]}


@pytest.mark.xfail(
    strict=False, reason="6,144 steps may show no gap; it has not been run to its end"
)
def test_ppg_wins_more_than_ppo_by_more_than_seeds_differ(tmp_path: Path) -> None:
    returns = {
        algo: [
            training_return(algo, tmp_path, *FLAGS, *own, f"--seed={seed}", episodes=EPISODES)
            for seed in SEEDS
        ]
        for algo, own in OWN.items()
    }
    gap = min(returns["ppg_procgen"]) - max(returns["ppo_procgen"])
    assert gap > max(map(spread, returns.values())), returns
