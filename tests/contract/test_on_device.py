"""Runs whose environments, replay and updates are one program, through the same suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from cleanrl_worker.recipes import RECIPES
from mosaic.contracts.errors import EXIT_OK, EXIT_TERMINATED
from tests.contract.forked import launched
from tests.contract.test_recipes import GRACE_S, assert_a_resumed_run_ends_the_same, flags

ON_DEVICE = {"env_backend": "jax", "num_envs": 2}


@pytest.mark.parametrize(
    ("name", "changes"),
    [("dqn_jax", {"num_seeds": 2}), ("td3_continuous_action_jax", {})],
    ids=["dqn_jax, two seeds", "td3_continuous_action_jax"],
)
def test_a_resumed_run_ends_with_the_same_weights_and_metrics(
    name: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    last = assert_a_resumed_run_ends_the_same(RECIPES[name], tmp_path, **ON_DEVICE, **changes)

    document = json.loads((last / "checkpoint.json").read_text())
    assert document["settings"]["env_backend"] == "jax"
    assert document["exact"]
    assert document["replay"]["total"] == document["step"]


def test_it_stops_within_the_grace(tmp_path: Path) -> None:
    recipe = RECIPES["dqn_jax"]
    endless = flags(recipe, **ON_DEVICE, total_timesteps=100_000_000)
    with launched(tmp_path / "run", recipe.name, *endless) as run:
        run.wait_until_it_trains()

        assert run.terminate() < GRACE_S
        assert run.wait() == EXIT_TERMINATED


def test_the_saved_model_is_the_first_seeds(tmp_path: Path) -> None:
    """Learners differ in their weights, and a run with another seed in all of them."""
    recipe = RECIPES["dqn_jax"]
    with launched(tmp_path / "run", recipe.name, *flags(recipe, **ON_DEVICE, num_seeds=2)) as run:
        assert run.wait() == EXIT_OK, run.output

    state = (run.checkpoints[-1] / "state.safetensors").read_bytes()
    from safetensors.torch import load

    held = load(state)
    kernels = held["state/learners/0.weights.params.Dense_0.kernel"]
    assert len(kernels) == 2
    assert not torch.equal(kernels[0], kernels[1])
    assert torch.equal(kernels[0], run.weights["params.Dense_0.kernel"])
