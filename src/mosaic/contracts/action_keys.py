"""Which key stands for which action, where a person plays: in the terminal and in the browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# The words of a label that a key stands for, in the order of preference.
_WORDS: dict[str, tuple[str, ...]] = {
    "left": ("left", "push left", "torque left", "left engine", "west"),
    "right": ("right", "push right", "torque right", "right engine", "east"),
    "up": ("up", "forward", "main engine", "north"),
    "down": ("down", "toggle", "wait", "south"),
}


def key_actions(labels: Sequence[str]) -> Mapping[str, int]:
    """Return the action of each key: arrows by the words of the labels, digits by number."""
    keys: dict[str, int] = {str(action): action for action in range(min(len(labels), 10))}
    for key, words in _WORDS.items():
        found = [labels.index(word) for word in words if word in labels]
        if found:
            keys[key] = found[0]
    return keys
