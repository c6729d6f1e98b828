"""Environments that people can play: their actions, keys, and how fast they go."""

from __future__ import annotations

import importlib
from typing import Any

import gymnasium

from mosaic.contracts.errors import ConfigError, DependencyMissing
from mosaic.workers.solo.table import Rules, Table, Title

_MINIGRID_KEYS = {"ArrowLeft": 0, "ArrowRight": 1, "ArrowUp": 2, "p": 3, "d": 4, " ": 5, "Enter": 6}
_MINIGRID = ("turn left", "turn right", "forward", "pick up", "drop", "toggle", "done")


GAMES: dict[str, Rules] = {
    "FrozenLake-v1": Rules(
        ("left", "down", "right", "up"),
        {"ArrowLeft": 0, "ArrowDown": 1, "ArrowRight": 2, "ArrowUp": 3},
    ),
    "CliffWalking-v1": Rules(
        ("up", "right", "down", "left"),
        {"ArrowUp": 0, "ArrowRight": 1, "ArrowDown": 2, "ArrowLeft": 3},
    ),
    "Taxi-v4": Rules(
        ("south", "north", "east", "west", "pick up", "drop off"),
        {"ArrowDown": 0, "ArrowUp": 1, "ArrowRight": 2, "ArrowLeft": 3, "p": 4, "d": 5},
    ),
    "Blackjack-v1": Rules(("stick", "hit"), {"s": 0, "h": 1}),
    "CartPole-v1": Rules(
        ("push left", "push right"), {"ArrowLeft": 0, "ArrowRight": 1}, fps=10.0, rest=0
    ),
    "MountainCar-v0": Rules(
        ("left", "nothing", "right"), {"ArrowLeft": 0, "ArrowRight": 2}, fps=15.0, rest=1
    ),
    "LunarLander-v3": Rules(
        ("nothing", "left engine", "main engine", "right engine"),
        {"ArrowRight": 1, "ArrowUp": 2, "ArrowLeft": 3},
        fps=15.0,
        rest=0,
    ),
    "MiniGrid-Empty-8x8-v0": Rules(_MINIGRID, _MINIGRID_KEYS),
    "MiniGrid-DoorKey-5x5-v0": Rules(_MINIGRID, _MINIGRID_KEYS),
    "BabyAI-GoToRedBall-v0": Rules(_MINIGRID, _MINIGRID_KEYS),
}
_MODULES = {"MiniGrid": "minigrid", "BabyAI": "minigrid", "ALE": "ale_py"}


def find_game(env_id: str, env: Any) -> Rules:
    """Return the game of an environment; one that is not listed has its actions by number."""
    if env_id in GAMES:
        return GAMES[env_id]
    if env_id.startswith(("MiniGrid-", "BabyAI-")):
        return Rules(_MINIGRID, _MINIGRID_KEYS)
    space = env.action_space
    if not isinstance(space, gymnasium.spaces.Discrete) or space.n > 36:
        raise ConfigError(
            f"env_id={env_id!r} cannot be played by keys: its actions are {space}.",
            hint=f"Play one of {', '.join(GAMES)}.",
        )
    meanings = getattr(env.unwrapped, "get_action_meanings", None)
    names = tuple(meanings()) if meanings else tuple(str(number) for number in range(space.n))
    digits = "1234567890abcdefghijklmnopqrstuvwxyz"
    keys = {digits[number]: number for number in range(int(space.n))}
    return Rules(names, keys, fps=15.0, rest=0)


def make_env(env_id: str) -> Any:
    module = _MODULES.get(env_id.replace("/", "-").partition("-")[0])
    try:
        if module is not None:
            importlib.import_module(module)
        return gymnasium.make(env_id, render_mode="rgb_array")
    except ImportError as error:
        raise DependencyMissing(
            f"env_id={env_id!r} needs the package {error.name or module}."
        ) from None
    except gymnasium.error.DependencyNotInstalled as error:
        raise DependencyMissing(f"env_id={env_id!r}: {error}.") from None
    except gymnasium.error.Error as error:
        raise ConfigError(f"env_id={env_id!r} cannot be built: {error}.") from None


def make_table(env_id: str, seed: int, run_id: str = "") -> Table:
    """Put an environment on the table, with its keys."""
    env = make_env(env_id)
    return Table(env, find_game(env_id, env), Title(env_id, "human", run_id), seed)
