"""Environments as text: what the agent sees, and what its actions are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium

from mosaic.contracts.errors import ConfigError, DependencyMissing

_COMPASS = ("left", "down", "right", "up")  # FrozenLake's order
_CLIFF = ("up", "right", "down", "left")
_TAXI = ("south", "north", "east", "west", "pick up", "drop off")
_MINIGRID = ("left", "right", "forward", "pickup", "drop", "toggle", "done")
_MINIGRID_HELP = (
    "left and right turn you, forward moves you one cell ahead; pickup, drop and toggle act on the "
    "cell ahead of you; done says that you are finished"
)
_PLACES = ("Red", "Green", "Yellow", "Blue")


@dataclass(frozen=True, slots=True)
class Game:
    """An environment that can be told in words."""

    env: Any
    actions: tuple[str, ...]
    rules: str
    kind: str

    def describe(self, observation: Any) -> str:
        return _DESCRIBERS[self.kind](self.env.unwrapped, observation)

    def to_json(self, observation: Any) -> Any:
        """Return the observation as telemetry has it."""
        if isinstance(observation, dict):
            return {name: self.to_json(value) for name, value in observation.items()}
        return observation.tolist() if hasattr(observation, "tolist") else observation


def make_game(env_id: str) -> Game:
    kind = _kind_of(env_id)
    if kind is None:
        raise ConfigError(
            f"env_id={env_id!r} cannot be told in words: this worker plays MiniGrid-*, BabyAI-*, "
            "FrozenLake-v1, CliffWalking-v1 and Taxi-v4."
        )
    if kind == "minigrid":
        try:
            import minigrid  # noqa: F401 - it registers its environments
        except ImportError:
            raise DependencyMissing(
                f"env_id={env_id!r} needs the package minigrid.",
                hint="Install the extra 'minigrid'.",
            ) from None
    try:
        env = gymnasium.make(env_id, render_mode="rgb_array")
    except gymnasium.error.Error as error:
        raise ConfigError(f"env_id={env_id!r} cannot be built: {error}.") from None
    actions, rules = _RULES[kind if kind != "toy" else env_id.partition("-")[0]]
    return Game(env, actions, rules, env_id.partition("-")[0] if kind == "toy" else kind)


def _kind_of(env_id: str) -> str | None:
    name = env_id.partition("-")[0]
    if name in ("MiniGrid", "BabyAI"):
        return "minigrid"
    return "toy" if name in _RULES else None


def _frozen_lake(env: Any, observation: int) -> str:
    rows = [[cell.decode() for cell in row] for row in env.desc]
    return _marked(rows, divmod(int(observation), env.ncol))


def _cliff(env: Any, observation: int) -> str:
    rows = [["."] * 12 for _ in range(3)] + [["S", *["C"] * 10, "G"]]
    return _marked(rows, divmod(int(observation), 12))


def _marked(rows: list[list[str]], at: tuple[int, int]) -> str:
    row, column = at
    standing = rows[row][column]
    rows[row][column] = "@"
    picture = "\n".join("".join(each) for each in rows)
    return f"{picture}\nYou are at row {row}, column {column} (on {standing})."


def _taxi(env: Any, observation: int) -> str:
    row, column, passenger, destination = env.decode(int(observation))
    places = ", ".join(
        f"{name} at row {place[0]}, column {place[1]}"
        for name, place in zip(_PLACES, env.locs, strict=True)
    )
    waiting = "in your taxi" if passenger == 4 else f"waiting at {_PLACES[passenger]}"
    return (
        f"The places: {places}.\nYour taxi is at row {row}, column {column}. The passenger is "
        f"{waiting} and wants to go to {_PLACES[destination]}."
    )


def _minigrid(env: Any, observation: Any) -> str:
    from minigrid.core.constants import IDX_TO_COLOR, IDX_TO_OBJECT, STATE_TO_IDX

    states = {number: name for name, number in STATE_TO_IDX.items()}
    image, seen, wall = observation["image"], [], None
    width, depth = image.shape[0], image.shape[1]
    for column in range(width):
        for row in range(depth):
            kind = IDX_TO_OBJECT[int(image[column, row, 0])]
            ahead, side = depth - 1 - row, column - width // 2
            if kind == "wall" and side == 0 and ahead > 0:
                wall = ahead if wall is None else min(wall, ahead)
            if kind in ("unseen", "empty", "wall", "floor", "agent") or (ahead, side) == (0, 0):
                continue
            colour = IDX_TO_COLOR[int(image[column, row, 1])]
            state = f"{states[int(image[column, row, 2])]} " if kind == "door" else ""
            seen.append((ahead + abs(side), f"a {state}{colour} {kind} {_where(ahead, side)}"))
    carried = getattr(env, "carrying", None)
    lines = [
        f"Mission: {observation['mission']}.",
        "You see " + ("; ".join(text for _, text in sorted(seen)) or "nothing of note") + ".",
        f"The wall ahead is {wall} cells away." if wall else "No wall is in sight ahead.",
    ]
    if carried is not None:
        lines.append(f"You carry a {carried.color} {carried.type}.")
    return "\n".join(lines)


def _where(ahead: int, side: int) -> str:
    parts = [f"{ahead} ahead"] if ahead else []
    if side:
        parts.append(f"{abs(side)} to the {'left' if side < 0 else 'right'}")
    return " and ".join(parts)


_LAKE_RULES = (
    "Walk over the frozen lake (F) from the start (S) to the goal (G); @ is you, a hole (H) ends "
    "the episode. The ice is slippery: you may slide to the side."
)
_CLIFF_RULES = (
    "Walk from S to G; @ is you. A step costs 1; the cliff (C) costs 100 and brings you back."
)
_TAXI_RULES = (
    "Drive to the passenger, pick them up, drive to where they want to go, drop them off. A step "
    "costs 1, a wrong pick up or drop off 10; arriving gives 20."
)
_RULES: dict[str, tuple[tuple[str, ...], str]] = {
    "FrozenLake": (_COMPASS, _LAKE_RULES),
    "FrozenLake8x8": (_COMPASS, _LAKE_RULES),
    "CliffWalking": (_CLIFF, _CLIFF_RULES),
    "Taxi": (_TAXI, _TAXI_RULES),
    "minigrid": (_MINIGRID, f"Fulfil the mission. {_MINIGRID_HELP}."),
}
_DESCRIBERS = {
    "FrozenLake": _frozen_lake,
    "FrozenLake8x8": _frozen_lake,
    "CliffWalking": _cliff,
    "Taxi": _taxi,
    "minigrid": _minigrid,
}
