"""The core algorithms with their tuned values, by greedy evaluation, in three of three seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from cleanrl_worker.recipes import RECIPES
from tests.learning.launching import greedy_return

pytestmark = [pytest.mark.learn, pytest.mark.timeout(3600)]

BARS = {
    "pqn": 450.0,
    "c51": 450.0,
    "dqn": 450.0,
    "sac_continuous_action": -250.0,
    "td3_continuous_action": -400.0,
    "ddpg_continuous_action": -400.0,
    "rpo_continuous_action": -500.0,
}


@pytest.mark.parametrize(("name", "bar"), BARS.items(), ids=BARS)
def test_the_tuned_values_reach_their_bar(name: str, bar: float, tmp_path: Path) -> None:
    row = RECIPES[name].tuned[0]
    settings = {"env_id": row.env_id, **row.values}
    flags = [f"--{key.replace('_', '-')}={value}" for key, value in settings.items()]

    returns = [greedy_return(name, tmp_path, *flags, f"--seed={seed}") for seed in (1, 2, 3)]

    assert min(returns) >= bar, returns
