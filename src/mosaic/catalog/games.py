"""Our own pages on environments: one TOML file a group, checked against the real spaces by a test.

A file names its family and group, the values that all of its games share (`[shared]`), and its
games (`[[game]]`).
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from mosaic.catalog.controls import Control, joystick_controls, read_controls
from mosaic.catalog.families import FAMILIES, Actions

# In the order in which they are shown.
FILES = (
    *("classic_control", "toy_text", "box2d", "mujoco", "atari", "minigrid", "babyai", "procgen"),
    *("dm_control", "pettingzoo"),
)

_KINDS: dict[str, Actions] = {
    "Discrete": "discrete",
    "MultiDiscrete": "branches",
    "Box": "box",
}


@dataclass(frozen=True, slots=True)
class Game:
    """What is said of one environment. `idle` is the action while no key is held; without one,
    the game waits for a key.
    """

    id: str
    family: str
    group: str
    title: str
    goal: str
    observation: str
    observation_space: str
    action: str
    action_space: str
    reward: str
    episode: str
    actions: tuple[str, ...] = ()  # what each number means
    extra: str = ""
    controls: tuple[Control, ...] = ()
    idle: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)  # of the constructor, for the preview

    @property
    def kind(self) -> Actions:
        return _KINDS.get(self.action_space.partition("(")[0], "other")

    @property
    def slug(self) -> str:
        """The name of its page and its picture."""
        return self.id.replace("/", "-").lower()


@functools.cache
def load_games() -> dict[str, Game]:
    """Return every environment that has a page, by its id."""
    folder = files(__package__) / "text"
    return {game.id: game for name in FILES for game in _read(folder / f"{name}.toml")}


def family_text(name: str) -> str:
    """Return what is said of a family, in Markdown."""
    return (files(__package__) / "text" / f"{name}.md").read_text(encoding="utf-8")


def preview_file(game: Game) -> Traversable:
    return files(__package__) / "previews" / f"{game.slug}.webp"


def _read(file: Traversable) -> Iterator[Game]:
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    family = FAMILIES[document["family"]]
    shared = {
        "family": family.name,
        "group": document["group"],
        "extra": document.get("extra", family.extra),
        **document.get("shared", {}),
    }
    for entry in document["game"]:
        yield _game({**shared, **entry})


def _game(values: dict[str, Any]) -> Game:
    keys = values.pop("keys", None)
    actions = tuple(values.pop("actions", ()))
    if keys is None and values["family"] == "atari":
        controls = joystick_controls(actions)
    else:
        controls = read_controls(keys or {}, actions)
    return Game(**values, actions=actions, controls=controls)
