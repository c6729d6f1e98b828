"""The JAX algorithms with the tuned values and bars of their torch twins, in three of three seeds.

Each on Gymnasium's environments, and on ours on the device.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cleanrl_worker.recipes import RECIPES
from tests.learning.launching import greedy_return
from tests.learning.test_core_learning import BARS

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

    returns = [greedy_return(name, tmp_path, *flags, f"--seed={seed}") for seed in (1, 2, 3)]

    assert min(returns) >= BARS[TWINS[name]], returns
