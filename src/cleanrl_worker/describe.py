"""The schema of the worker, printed from its recipes."""

from __future__ import annotations

import importlib
import json
from typing import Any

from cleanrl_worker.recipes import RECIPES, Recipe
from cleanrl_worker.run_options import RunOptions
from cleanrl_worker.search_spaces import search_space
from mosaic.contracts.parameters import Parameter, parameters_of
from mosaic.contracts.schema import SCHEMA_VERSION

# Plumbing between the worker and its algorithm process: no field of a form.
_PLUMBING = frozenset({"dry_run", "checkpoint_path"})


def recipe_parameters(recipe: Recipe) -> tuple[Parameter, ...]:
    """Return the run options and the hyperparameters of a recipe, with its own defaults."""
    config_type = importlib.import_module(recipe.module).Config
    declared = parameters_of(RunOptions, recipe.overrides) + parameters_of(
        config_type, recipe.overrides
    )
    return tuple(parameter for parameter in declared if parameter.name not in recipe.omits)


def describe() -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "worker_type": "cleanrl",
        "algorithms": [_describe(recipe) for recipe in RECIPES.values()],
    }


def _describe(recipe: Recipe) -> dict[str, Any]:
    parameters = recipe_parameters(recipe)
    return {
        "name": recipe.name,
        "module": recipe.module,
        "summary": recipe.summary,
        "source": recipe.source,
        "env_families": list(recipe.env_families),
        "actions": recipe.actions,
        "extras": list(recipe.extras),
        "fields": [
            parameter.to_json() for parameter in parameters if parameter.name not in _PLUMBING
        ],
        "tuned": [
            {"env_id": row.env_id, "values": dict(row.values), "source": row.source}
            for row in recipe.tuned
        ],
        "search": [row.to_json() for row in search_space(parameters, recipe.search)],
    }


def main() -> int:
    print(json.dumps(describe(), indent=1))
    return 0
