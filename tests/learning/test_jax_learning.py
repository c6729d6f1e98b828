"""The JAX algorithms learn what their torch twins learn, in three of three seeds.

With the twins' tuned values and bars, on Gymnasium's environments and on ours on the device; and
those that see pictures in the game of catching.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cleanrl_worker.recipes import RECIPES
from tests.learning.launching import greedy_return, run_module
from tests.learning.test_core_learning import BARS
from tests.learning.test_visual_learning import EPISODES, OWN, SEEDS, catching

pytestmark = [pytest.mark.learn, pytest.mark.timeout(3600)]

TWINS = {
    "dqn_jax": "dqn",
    "c51_jax": "c51",
    "ddpg_continuous_action_jax": "ddpg_continuous_action",
    "td3_continuous_action_jax": "td3_continuous_action",
}


@pytest.mark.parametrize("backend", ["auto", "jax"])
@pytest.mark.parametrize("name", TWINS)
def test_the_tuned_values_reach_their_bar(name: str, backend: str, tmp_path: Path) -> None:
    row = RECIPES[name].tuned[0]
    settings = {"env_id": row.env_id, **row.values, "env_backend": backend}
    flags = [f"--{key.replace('_', '-')}={value}" for key, value in settings.items()]

    returns = [greedy_return(name, tmp_path, *flags, f"--seed={seed}") for seed in SEEDS]

    assert min(returns) >= BARS[TWINS[name]], returns


@pytest.mark.parametrize("name", ["ppo", "ppo_jax"])
def test_ppo_catches_what_falls(name: str) -> None:
    """41,000 steps of the recipe's own rollout and update; chance earns about -0.5."""
    returns = []
    for seed in SEEDS:
        printed = run_module("tests.learning.catching", name, str(seed))
        returns.append(float(printed.splitlines()[-1]))
        print(f"{name}, seed {seed}: {returns[-1]:.3f}")

    assert min(returns) >= 0.9, returns


@pytest.mark.parametrize(
    ("name", "steps", "own"),
    [
        ("dqn_atari", 20_000, []),
        ("dqn_atari_jax", 20_000, []),
        ("c51_atari", 28_000, ["--v-min=-2", "--v-max=2"]),
        ("c51_atari_jax", 28_000, ["--v-min=-2", "--v-max=2"]),
    ],
    ids=["dqn_atari", "dqn_atari_jax", "c51_atari", "c51_atari_jax"],
)
def test_q_learning_catches_what_falls(
    name: str, steps: int, own: list[str], playing: Path
) -> None:
    """In so many steps: at 8,000, as in `test_visual_learning.py`, seeds still differ by much."""
    flags = [*catching(steps), *OWN["dqn_atari"], *own]
    returns = [
        greedy_return(name, playing, *flags, f"--seed={seed}", episodes=EPISODES) for seed in SEEDS
    ]

    assert min(returns) >= 0.9, returns
