"""The recipes: one row of data for every registry name.

Flags, schema, forms, validation, search spaces, docs and the registry test derive from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mosaic.contracts.errors import ConfigError, suggest
from mosaic.contracts.schema import TunedRow

_CLEANRL = "CleanRL fe8d8a03"
_MEASURED = "measured with CleanRL's ppo: {} steps, two seeds"
_ZOO = "RL Baselines3 Zoo, measured with CleanRL's ppo: 500 at 100k steps, two seeds"


@dataclass(frozen=True, slots=True)
class Recipe:
    """One registry name.

    `overrides` are its defaults of run options and hyperparameters; `omits` names parameters of
    the algorithm that it does not have; `sibling` is the name for the other kind of actions;
    `normalise` brings observations and rewards to one scale.
    """

    name: str
    algorithm: str
    summary: str
    env_families: tuple[str, ...]
    source: str
    actions: Literal["discrete", "box"]
    sibling: str | None = None
    normalise: bool = False
    omits: tuple[str, ...] = ()
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
        actions="discrete",
        sibling="ppo_continuous_action",
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
            TunedRow(
                "MiniGrid-Empty-5x5-v0",
                {"total_timesteps": 30_000, "num_envs": 8, "learning_rate": 0.001},
                _MEASURED.format("0.95 at 30k"),
            ),
            TunedRow(
                "MiniGrid-DoorKey-5x5-v0",
                {"total_timesteps": 100_000, "num_envs": 8, "learning_rate": 0.001},
                _MEASURED.format("0.96 at 100k"),
            ),
            TunedRow(
                "BabyAI-GoToRedBallNoDists-v0",
                {"total_timesteps": 200_000, "num_envs": 16, "learning_rate": 0.001},
                _MEASURED.format("0.92 at 200k"),
            ),
        ),
        smoke={"total_timesteps": 64, "num_envs": 2, "num_steps": 16},
    ),
    Recipe(
        name="ppo_continuous_action",
        algorithm="ppo",
        summary="Proximal policy optimisation for continuous actions.",
        env_families=("gymnasium", "mujoco", "dm_control"),
        source=f"{_CLEANRL}; the v5 environment in place of v4",
        actions="box",
        sibling="ppo",
        normalise=True,
        omits=("shared_trunk",),
        extras=("mujoco",),
        overrides={
            "env_id": "HalfCheetah-v5",
            "total_timesteps": 1_000_000,
            "learning_rate": 3e-4,
            "num_envs": 1,
            "num_steps": 2048,
            "num_minibatches": 32,
            "update_epochs": 10,
            "ent_coef": 0.0,
        },
        smoke={
            "env_id": "Pendulum-v1",
            "total_timesteps": 64,
            "num_envs": 2,
            "num_steps": 16,
            "num_minibatches": 4,
        },
    ),
)

RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in _RECIPES}


def find_recipe(name: str) -> Recipe:
    if name not in RECIPES:
        raise ConfigError(
            f"algo={name!r} is unknown.{suggest(name, RECIPES)}", hint="'mosaic algos' lists them."
        )
    return RECIPES[name]
