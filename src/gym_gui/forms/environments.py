"""The environment of a training: ids that fit the algorithm, or any id that somebody types."""

from __future__ import annotations

from collections.abc import Iterable

from gym_gui.environment_index import environment_index
from mosaic.catalog.environments import Environment
from mosaic.catalog.families import FAMILIES
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.schema import AlgorithmSchema

# Ids that the catalogue does not know: those of a user's own, above all.
OTHER = "other"


def known_environments(algorithm: AlgorithmSchema) -> list[str]:
    """Return ids that fit the algorithm: those with tuned values first, then its default."""
    tuned = [row.env_id for row in algorithm.tuned]
    default = [str(algorithm.default("env_id"))] if algorithm.has("env_id") else []
    every = environment_index(VarPaths.default()).environments.by_id.values()
    fitting = [each.id for each in every if each.fits(algorithm)]
    return list(dict.fromkeys([*tuned, *default, *fitting]))


def find_environment(env_id: str) -> Environment | None:
    return environment_index(VarPaths.default()).environments.get(env_id)


def by_family(env_ids: Iterable[str]) -> dict[str, list[str]]:
    """Return the ids of each family, in the order of the families."""
    found: dict[str, list[str]] = {}
    for env_id in env_ids:
        environment = find_environment(env_id)
        name = OTHER if environment is None else environment.family.name
        found.setdefault(name, []).append(env_id)
    order = [*FAMILIES, OTHER]
    return dict(sorted(found.items(), key=lambda each: order.index(each[0])))
