"""The recipes: one row of data for every registry name.

Flags, schema, forms, validation, search spaces, docs and the registry test derive from this table.
"""

from __future__ import annotations

from cleanrl_worker.recipes.action_values import ACTION_VALUES
from cleanrl_worker.recipes.continuous import CONTINUOUS
from cleanrl_worker.recipes.in_jax import IN_JAX
from cleanrl_worker.recipes.policy_gradient import POLICY_GRADIENT
from cleanrl_worker.recipes.recipe import Recipe
from cleanrl_worker.recipes.recurrent import RECURRENT
from mosaic.contracts.errors import ConfigError, suggest

__all__ = ["RECIPES", "Recipe", "find_recipe"]

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (*POLICY_GRADIENT, *RECURRENT, *ACTION_VALUES, *CONTINUOUS, *IN_JAX)
}


def find_recipe(name: str) -> Recipe:
    if name not in RECIPES:
        raise ConfigError(
            f"algo={name!r} is unknown.{suggest(name, RECIPES)}", hint="'mosaic algos' lists them."
        )
    return RECIPES[name]
