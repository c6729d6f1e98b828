"""What the numbers of a discrete action space mean, for whoever plays by hand."""

from __future__ import annotations

import enum
from typing import Any

import gymnasium as gym
from gymnasium import spaces

# Of Gymnasium's own; their code says it in comments alone.
_LABELS: dict[str, tuple[str, ...]] = {
    "CartPole": ("push left", "push right"),
    "MountainCar": ("push left", "wait", "push right"),
    "Acrobot": ("torque left", "wait", "torque right"),
    "LunarLander": ("wait", "left engine", "main engine", "right engine"),
    "FrozenLake": ("left", "down", "right", "up"),
    "FrozenLake8x8": ("left", "down", "right", "up"),
    "CliffWalking": ("up", "right", "down", "left"),
    "Taxi": ("south", "north", "east", "west", "pick up", "drop off"),
    "Blackjack": ("stick", "hit"),
}


def action_labels(env: gym.Env[Any, Any]) -> list[str]:
    """Return a word for each action, counted from 0; their numbers where none are known."""
    space = env.action_space
    if not isinstance(space, spaces.Discrete):
        return []
    count = int(space.n)
    labels = _own_labels(env.unwrapped) or _LABELS.get(_name_of(env), ())
    return list(labels) if len(labels) == count else [str(action) for action in range(count)]


def _own_labels(env: Any) -> tuple[str, ...]:
    """Ask Atari for its meanings, MiniGrid for the names of its actions."""
    if callable(getattr(env, "get_action_meanings", None)):
        return tuple(str(meaning).lower() for meaning in env.get_action_meanings())
    actions = getattr(env, "actions", None)
    if isinstance(actions, enum.EnumMeta):
        return tuple(action.name.replace("_", " ") for action in actions)  # type: ignore[var-annotated]
    return ()


def _name_of(env: gym.Env[Any, Any]) -> str:
    return "" if env.spec is None else env.spec.name
