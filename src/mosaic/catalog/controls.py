"""Keys that a person plays with: which are held, and the action that they stand for.

Keys are named as browsers name them (`KeyboardEvent.key`), but the blank is "Space".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

# The words of which ale-py makes its names of actions, such as UPRIGHTFIRE.
_JOYSTICK = {
    "UP": "ArrowUp",
    "DOWN": "ArrowDown",
    "LEFT": "ArrowLeft",
    "RIGHT": "ArrowRight",
    "FIRE": "Space",
}
_SHOWN = {"ArrowUp": "↑", "ArrowDown": "↓", "ArrowLeft": "←", "ArrowRight": "→"}


@dataclass(frozen=True, slots=True)
class Control:
    """Keys that are held together, what they do, and the action."""

    keys: tuple[str, ...]
    action: int
    meaning: str

    @property
    def text(self) -> str:
        return " + ".join(_SHOWN.get(key, key) for key in self.keys)


def read_controls(keys: Mapping[str, int], meanings: Sequence[str]) -> tuple[Control, ...]:
    """Return the controls of a table such as `{"ArrowLeft": 0, "ArrowUp+Space": 3}`."""
    return tuple(
        Control(tuple(held.split("+")), action, meanings[action]) for held, action in keys.items()
    )


def joystick_controls(meanings: Iterable[str]) -> tuple[Control, ...]:
    """Return the controls of an Atari game by the names of its actions; NOOP needs no key."""
    controls = []
    for action, meaning in enumerate(meanings):
        words = re.findall("|".join(_JOYSTICK), meaning)
        if "".join(words) == meaning:
            controls.append(Control(tuple(map(_JOYSTICK.__getitem__, words)), action, meaning))
    return tuple(controls)
