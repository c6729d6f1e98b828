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
from tests.contract.short_games import SHORT_GAME, SHORT_PONG, SHORT_SCENES, STEPS
from tests.scripts import FOLDER

EVERY_RECIPE = pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
# Its whole rollout is compiled anew after every cut, which takes minutes on a slow core.
COMPILED_LONG = {"ppo_atari_envpool_xla_jax_scan"}
EVERY_RECIPE_RESUMED = pytest.mark.parametrize(
    "recipe",
    [
        pytest.param(recipe, id=name, marks=pytest.mark.slow if name in COMPILED_LONG else ())
        for name, recipe in RECIPES.items()
    ],
)
SHORT = {"atari": SHORT_GAME, "pettingzoo": SHORT_PONG, "procgen": SHORT_SCENES}
GRACE_S = 10.0
# Steps of an episode; CartPole has 500.
LONGEST = {"Pendulum-v1": 200, "FrozenLake-v1": 100, "ProofofMemory-v0": 16}


def documented() -> dict[str, list[str]]:
    """Return the tags that the page of each algorithm lists."""
    return dict(json.loads((FOLDER / "logged_metrics.json").read_text()))


def flags(recipe: Recipe, **changes: Any) -> list[str]:
    values = {**recipe.smoke, **changes}
    if is_game(recipe):
        values["env_id"] = SHORT[next(name for name in SHORT if name in recipe.env_families)]
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]


def is_game(recipe: Recipe) -> bool:
    """Say whether it is tried on a short game: where its smallest settings name nothing else."""
    return bool(SHORT.keys() & set(recipe.env_families)) and "env_id" not in recipe.smoke


def long_run(recipe: Recipe) -> dict[str, Any]:
    """Return settings of a run with two cuts, between which the longest episodes fit."""
    episode = STEPS if is_game(recipe) else LONGEST.get(recipe.smoke.get("env_id"), 500)
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


@EVERY_RECIPE_RESUMED
def test_a_resumed_run_ends_with_the_same_weights_and_metrics(
    recipe: Recipe, tmp_path: Path
) -> None:
    assert_a_resumed_run_ends_the_same(recipe, tmp_path)


def test_so_does_one_with_games_in_ale_pys_vector_environment(tmp_path: Path) -> None:
    native = {"env_backend": "native"}
    last = assert_a_resumed_run_ends_the_same(RECIPES["ppo_atari"], tmp_path, **native)
    assert native.items() <= json.loads((last / "checkpoint.json").read_text())["settings"].items()


def assert_a_resumed_run_ends_the_same(recipe: Recipe, tmp_path: Path, **changes: Any) -> Path:
    """Train to the end, again from the first cut on, and return the last checkpoint of that."""
    settings = flags(recipe, **long_run(recipe), **changes)
    with launched(tmp_path / "whole", recipe.name, *settings) as whole:
        assert whole.wait() == EXIT_OK, whole.output
    cut = whole.checkpoints[0]
    with launched(tmp_path / "rest", recipe.name, f"--checkpoint-path={cut}") as rest:
        assert rest.wait() == EXIT_OK, rest.output

    assert all(torch.equal(rest.weights[name], tensor) for name, tensor in whole.weights.items())
    if changes.get("env_backend") is None:  # a run on the device has an account of time of its own
        assert logged_tags(whole.rows()) == set(documented()[recipe.name]), (
            f"run .venv/bin/python scripts/find_metrics.py {recipe.name}, then make schema"
        )
    step = json.loads((cut / "checkpoint.json").read_text())["step"]
    expected = points(whole.rows(), after=step)
    assert points(rest.rows(), after=step) == expected
    assert any(tag.startswith("losses/") for tag, _, _ in expected)
    assert sum(tag == "eval/episodic_return" for tag, _, _ in expected) == 10
    return rest.checkpoints[-1]


def logged_tags(rows: list[dict[str, Any]]) -> set[str]:
    """Return the catalogue's names of what was logged: those of several players are one."""
    metrics = [find_metric(tag) for row in rows for tag in row["values"]]
    return {metric.tag for metric in metrics if metric is not None}


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
