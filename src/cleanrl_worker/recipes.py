"""The recipes: one row of data for every registry name.

Flags, schema, forms, validation, search spaces, docs and the registry test derive from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mosaic.contracts.errors import ConfigError, suggest
from mosaic.contracts.schema import TunedRow

_CLEANRL = "CleanRL fe8d8a03"
_ZOO = "RL Baselines3 Zoo, measured with CleanRL's ppo: 500 at 100k steps, two seeds"


@dataclass(frozen=True, slots=True)
class Recipe:
    """`overrides` are this name's defaults of run options and hyperparameters."""

    name: str
    algorithm: str
    summary: str
    env_families: tuple[str, ...]
    source: str
    extras: tuple[str, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)
    tuned: tuple[TunedRow, ...] = ()
    smoke: Mapping[str, Any] = field(default_factory=dict)

    @property
    def module(self) -> str:
        return f"cleanrl_worker.algorithms.{self.algorithm}"


_RECIPES = (
    Recipe(
        name="ppo",
        algorithm="ppo",
        summary="Proximal policy optimisation for discrete actions.",
        env_families=("gymnasium", "minigrid", "babyai"),
        source=_CLEANRL,
        overrides={"env_id": "CartPole-v1", "total_timesteps": 500_000},
        tuned=(
            TunedRow(
                "CartPole-v1",
                {
                    "total_timesteps": 100_000,
                    "num_envs": 8,
                    "num_steps": 32,
                    "num_minibatches": 1,
                    "update_epochs": 20,
                    "gae_lambda": 0.8,
                    "gamma": 0.98,
                    "learning_rate": 0.001,
                    "ent_coef": 0.0,
                },
                _ZOO,
            ),
        ),
        smoke={"total_timesteps": 64, "num_envs": 2, "num_steps": 16},
    ),
)

RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in _RECIPES}


def find_recipe(name: str) -> Recipe:
    if name not in RECIPES:
        raise ConfigError(
            f"algo={name!r} is unknown.{suggest(name, RECIPES)}", hint="'mosaic algos' lists them."
        )
    return RECIPES[name]
