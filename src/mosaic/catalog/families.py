"""Families of environments: what brings each, and what all of its environments share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mosaic.contracts.errors import ConfigError, suggest

# "branches": several discrete choices at once.
Actions = Literal["discrete", "branches", "box", "other"]


@dataclass(frozen=True, slots=True)
class Family:
    """A family, under the name that algorithms and runs know it by.

    `actions` is the kind of those environments that have no page of their own. `agent_only` says
    why no person can play any of them; empty where one can.
    """

    name: str
    title: str
    summary: str
    extra: str  # of the distribution; "" where the base brings it
    distributions: tuple[str, ...]  # whose versions decide which ids there are
    actions: Actions = "discrete"
    libraries: tuple[str, ...] = ()  # shared libraries that no Python package brings
    apt: tuple[str, ...] = ()  # the Debian packages that bring them
    agent_only: str = ""
    keys: str = ""  # what all of its games are played with, those without a page included
    trained_groups: tuple[str, ...] = ()  # those that algorithms can train in; empty: all


_TORQUES = "Its actions are joint torques, which no keyboard gives."

_GRID_KEYS = (
    "The left and right arrows turn, the up arrow goes forward, p picks up, d drops, "
    "Space opens and shuts, Enter says that it is done."
)

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family(
            "gymnasium",
            "Gymnasium",
            "Classic control, toy text and Box2D: small problems that train in minutes.",
            extra="",
            distributions=("gymnasium", "box2d"),
        ),
        Family(
            "mujoco",
            "MuJoCo",
            "Simulated robots with joints and contacts; the benchmark of continuous control.",
            extra="mujoco",
            distributions=("gymnasium", "mujoco"),
            actions="box",
            agent_only=_TORQUES,
        ),
        Family(
            "atari",
            "Atari",
            "Games of the Atari 2600, seen as pictures.",
            extra="atari",
            distributions=("gymnasium", "ale-py"),
            keys="The arrow keys are the joystick, Space is its button.",
        ),
        Family(
            "minigrid",
            "MiniGrid",
            "Rooms of cells with doors, keys and lava; the agent sees a few cells ahead.",
            extra="minigrid",
            distributions=("gymnasium", "minigrid"),
            keys=_GRID_KEYS,
        ),
        Family(
            "babyai",
            "BabyAI",
            "MiniGrid's rooms with an instruction in words for every episode.",
            extra="minigrid",
            distributions=("gymnasium", "minigrid"),
            keys=_GRID_KEYS,
        ),
        Family(
            "procgen",
            "Procgen",
            "Sixteen games whose every level is generated: they measure generalisation.",
            extra="procgen",
            distributions=("envpool",),
            libraries=("libQt5Core.so.5", "libQt5Gui.so.5"),
            apt=("libqt5core5a", "libqt5gui5"),
            agent_only="Its games come from envpool, which gives no single one to a player.",
        ),
        Family(
            "dm_control",
            "dm_control",
            "DeepMind's control suite: MuJoCo bodies, rewards between 0 and 1 a step.",
            extra="dm-control",
            distributions=("gymnasium", "shimmy", "dm-control", "mujoco"),
            actions="box",
            agent_only=_TORQUES,
        ),
        Family(
            "pettingzoo",
            "PettingZoo",
            "Games of several players, each with an action of its own.",
            extra="pettingzoo",
            distributions=("pettingzoo", "mpe2", "multi-agent-ale-py"),
            agent_only="Its games need a player for every side.",
            trained_groups=("Atari",),
        ),
    )
}


def find_family(name: str) -> Family:
    if name in FAMILIES:
        return FAMILIES[name]
    raise ConfigError(
        f"family={name!r} is unknown.{suggest(name, FAMILIES)}",
        hint=f"Families: {', '.join(FAMILIES)}.",
    )
