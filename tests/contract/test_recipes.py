"""Every recipe through one suite: trains, checkpoints, resumes bit for bit, evaluates, stops."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from cleanrl_worker.preparation import prepare, summarise
from cleanrl_worker.recipes import RECIPES, Recipe
from mosaic.contracts.errors import EXIT_OK, EXIT_TERMINATED
from mosaic.contracts.metrics import find_metric
from tests.contract.forked import launched
from tests.contract.short_games import SHORT_GAME, STEPS

EVERY_RECIPE = pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
GRACE_S = 10.0


def flags(recipe: Recipe, **changes: Any) -> list[str]:
    values = {**recipe.smoke, **changes}
    if "atari" in recipe.env_families:
        values["env_id"] = SHORT_GAME
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]


def long_run(recipe: Recipe) -> dict[str, Any]:
    """Return settings of a run with two cuts, between which the longest episodes fit."""
    episode = 200 if recipe.smoke.get("env_id") == "Pendulum-v1" else 500
    if "atari" in recipe.env_families:
        episode = STEPS
    interval = 2 * episode * 2
    return {
        "total_timesteps": 3 * interval,
        "checkpoint_interval": interval,
        "checkpoint_replay": "all",
    }


@EVERY_RECIPE
def test_it_passes_a_dry_run(recipe: Recipe) -> None:
    prepared = prepare(recipe.name, [*flags(recipe), "--dry-run"])

    summary = summarise(prepared)

    assert summary["agent"]["parameters"] > 0
    assert summary["env"]["id"] == prepared.options.env_id


@EVERY_RECIPE
def test_tuned_rows_are_settings_that_it_accepts(recipe: Recipe) -> None:
    for row in recipe.tuned:
        named = {"env_id": row.env_id, **row.values}
        given = [f"--{name.replace('_', '-')}={value}" for name, value in named.items()]
        assert prepare(recipe.name, [*given, "--dry-run"]).options.env_id == row.env_id


@EVERY_RECIPE
def test_a_resumed_run_ends_with_the_same_weights_and_metrics(
    recipe: Recipe, tmp_path: Path
) -> None:
    with launched(tmp_path / "whole", recipe.name, *flags(recipe, **long_run(recipe))) as whole:
        assert whole.wait() == EXIT_OK, whole.output
    cut = whole.checkpoints[0]
    with launched(tmp_path / "rest", recipe.name, f"--checkpoint-path={cut}") as rest:
        assert rest.wait() == EXIT_OK, rest.output

    assert all(torch.equal(rest.weights[name], tensor) for name, tensor in whole.weights.items())
    step = json.loads((cut / "checkpoint.json").read_text())["step"]
    expected = points(whole.rows(), after=step)
    assert points(rest.rows(), after=step) == expected
    assert any(tag.startswith("losses/") for tag, _, _ in expected)
    assert sum(tag == "eval/episodic_return" for tag, _, _ in expected) == 10


def points(rows: list[dict[str, Any]], *, after: int) -> list[tuple[str, int, float]]:
    """Return the points that the seed decides: those after a step, and the evaluation's."""
    found = []
    for row in rows:
        for tag, value in row["values"].items():
            metric = find_metric(tag)
            assert metric is not None, tag
            if not metric.wall_clock and (metric.axis == "episode" or row["step"] > after):
                found.append((tag, row["step"], value))
    return found


@EVERY_RECIPE
def test_it_stops_within_the_grace(recipe: Recipe, tmp_path: Path) -> None:
    endless = flags(recipe, total_timesteps=100_000_000)
    with launched(tmp_path / "run", recipe.name, *endless) as run:
        run.wait_until_it_trains()

        assert run.terminate() < GRACE_S
        assert run.wait() == EXIT_TERMINATED


def test_another_seed_gives_another_curve(tmp_path: Path) -> None:
    recipe = RECIPES["dqn"]
    curves = []
    for number, seed in enumerate((1, 1, 2)):
        settings = flags(recipe, seed=seed, total_timesteps=2000)
        with launched(tmp_path / str(number), recipe.name, *settings) as run:
            assert run.wait() == EXIT_OK, run.output
        curves.append(points(run.rows(), after=0))

    assert curves[0] == curves[1]
    assert curves[0] != curves[2]
