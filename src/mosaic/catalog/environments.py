"""The environments that there are: those with a page of ours, and whatever else is installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mosaic.catalog.families import FAMILIES, Actions, Family
from mosaic.catalog.games import Game, load_games
from mosaic.contracts.errors import ConfigError, suggest
from mosaic.contracts.schema import AlgorithmSchema

_USUAL_NAMES = {"atari": ("{}NoFrameskip-v4", "{}-v5"), "mujoco": ("{}-v4",)}


@dataclass(frozen=True, slots=True)
class Environment:
    """One environment. `also` are other ids of it; `game` is its page, where it has one."""

    id: str
    family: Family
    group: str
    also: tuple[str, ...] = ()
    game: Game | None = None

    @property
    def title(self) -> str:
        if self.game is not None:
            return self.game.title
        return self.id.rpartition("/")[2].rpartition("-v")[0] or self.id

    @property
    def actions(self) -> Actions:
        return self.family.actions if self.game is None else self.game.kind

    @property
    def extra(self) -> str:
        return self.family.extra if self.game is None else self.game.extra

    @property
    def is_playable(self) -> bool:
        """Say whether a person can play it: there is no reason against it, and keys are known."""
        return not self.why_agent_only

    @property
    def why_agent_only(self) -> str:
        if self.family.agent_only:
            return self.family.agent_only
        if self.actions == "box":
            return "Its actions are continuous, and no key stands for one."
        has_keys = bool(self.family.keys or (self.game and self.game.controls))
        return "" if has_keys else "No keys are known for it."

    def fits(self, algorithm: AlgorithmSchema) -> bool:
        """Say whether the algorithm trains in this family, and gives actions of this kind."""
        trained = self.family.trained_groups
        return (
            self.family.name in algorithm.env_families
            and _gives(algorithm.actions, self.actions)
            and (not trained or self.group in trained)
        )

    def fitting(self, algorithms: Iterable[AlgorithmSchema]) -> list[AlgorithmSchema]:
        """Return the algorithms that fit, those with tuned values for it first."""
        names = {self.id, *self.also}
        found = [each for each in algorithms if self.fits(each)]
        return sorted(found, key=lambda each: not any(row.env_id in names for row in each.tuned))

    def matches(self, text: str) -> bool:
        """Say whether every word of the text is in one of its names."""
        parts = [self.id, self.title, self.group, self.family.name, *self.also]
        if self.game is not None:
            parts.append(self.game.goal)
        whole = " ".join(parts).lower()
        return all(word in whole for word in text.lower().split())


@dataclass(frozen=True, slots=True)
class Environments:
    """All of them by id, in the order of the families. `problems`: families that fail to load."""

    by_id: Mapping[str, Environment]
    problems: Mapping[str, str] = field(default_factory=dict)

    def of_family(self, name: str) -> list[Environment]:
        return [each for each in self.by_id.values() if each.family.name == name]

    def find(self, name: str) -> Environment:
        found = self.get(name)
        if found is None:
            raise ConfigError(
                f"env_id={name!r} is not in the catalogue.{suggest(name, self.by_id)}",
                hint="'mosaic envs' lists the families, 'mosaic envs FAMILY' their environments.",
            )
        return found

    def get(self, name: str) -> Environment | None:
        """Return the environment of an id, or of another id that it goes by."""
        if name in self.by_id:
            return self.by_id[name]
        return next((each for each in self.by_id.values() if name in each.also), None)


def _gives(given: str, wanted: Actions) -> bool:
    """Say whether an algorithm's kind of actions will do; one choice is a case of several."""
    return given in ("", wanted) or (given == "branches" and wanted == "discrete")


def documented() -> Environments:
    """Return those with a page, which are known whether they are installed or not."""
    return combine({})


def combine(surveyed: Mapping[str, Mapping[str, Any]]) -> Environments:
    """Put what a survey found together with the pages."""
    by_id: dict[str, Environment] = {}
    problems = {}
    for name, family in FAMILIES.items():
        answer = surveyed.get(name, {})
        if answer.get("problem"):
            problems[name] = str(answer["problem"])
        found = _of_family(family, answer.get("environments", ()))
        by_id.update((each.id, each) for each in found)
    return Environments(by_id, problems)


def _usual_names(game: Game) -> tuple[str, ...]:
    """Return what CleanRL's users call a game, for as long as no package has been asked."""
    name = game.id.rpartition("/")[2].rpartition("-v")[0]
    return tuple(usual.format(name) for usual in _USUAL_NAMES.get(game.family, ()))


def _of_family(family: Family, rows: Sequence[Mapping[str, Any]]) -> list[Environment]:
    """Return those with a page in the order of the pages, then the others."""
    installed = {str(row["id"]): row for row in rows}
    environments = []
    for game in load_games().values():
        if game.family == family.name:
            also = tuple(installed.pop(game.id, {}).get("also", _usual_names(game)))
            environments.append(Environment(game.id, family, game.group, also, game))
    for env_id, row in installed.items():
        also = tuple(row.get("also", ()))
        environments.append(Environment(env_id, family, str(row.get("group", "")), also))
    return environments
