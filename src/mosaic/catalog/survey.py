"""List the installed environments as JSON on stdout: `python -m mosaic.catalog.survey [ID]`.

A process of its own, since it imports what the light processes must not: simulators, emulators.
With an id it makes that environment and tells its spaces.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from mosaic.catalog.families import FAMILIES
from mosaic.catalog.games import load_games
from mosaic.catalog.spaces import space_text

Row = dict[str, Any]

_GROUPS = {
    "gymnasium.envs.classic_control": "Classic control",
    "gymnasium.envs.toy_text": "Toy text",
    "gymnasium.envs.box2d": "Box2D",
}
_ZOO = {
    "pettingzoo.atari": "Atari",
    "pettingzoo.butterfly": "Butterfly",
    "pettingzoo.classic": "Classic",
    "pettingzoo.sisl": "SISL",
    "mpe2": "MPE",
}
# How the ids begin that a package registers only once it is imported.
_PREFIXES = {
    "ale_py": ("ALE/",),
    "minigrid": ("MiniGrid-", "BabyAI-"),
    "shimmy": ("dm_control/",),
}
_VERSIONED = re.compile(r"(?P<name>.+)[-_]v(?P<version>\d+)$")


def main(words: Sequence[str]) -> int:
    warnings.simplefilter("ignore")
    # Packages greet on stdout, which is ours.
    out, sys.stdout = sys.stdout, sys.stderr
    document = describe(words[0]) if words else {"families": survey()}
    print(json.dumps(document), file=out)
    return 0


def survey() -> dict[str, Row]:
    """Return the ids of each family, or why there are none."""
    found: dict[str, Row] = {}
    for name, listing in _LISTINGS.items():
        # A border: importing a package that is half installed may raise anything.
        try:
            found[name] = {"environments": listing()}
        except Exception as error:  # noqa: BLE001
            found[name] = {"environments": [], "problem": f"{type(error).__name__}: {error}"}
    return found


def describe(env_id: str) -> Row:
    """Make one environment and return its spaces in words, or the problem."""
    try:
        env = _make(env_id)
    except Exception as error:  # noqa: BLE001 - the same border
        return {"problem": f"{type(error).__name__}: {error}"}
    limit = env.spec.max_episode_steps if env.spec is not None else None
    return {
        "observation_space": space_text(env.observation_space),
        "action_space": space_text(env.action_space),
        "max_episode_steps": limit,
    }


def _make(env_id: str) -> Any:
    import gymnasium as gym

    for module, prefixes in _PREFIXES.items():
        if env_id.startswith(prefixes) and _is_there(module):
            gym.register_envs(importlib.import_module(module))
    return gym.make(env_id, disable_env_checker=True)


def _is_there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _specs(module: str = "") -> list[Any]:
    """Return the registered environments, those of a package registered first."""
    import gymnasium as gym

    if module and not _is_there(module):
        return []
    if module:
        gym.register_envs(importlib.import_module(module))
    return list(gym.registry.values())


def _code(spec: Any) -> str:
    """Return where a registered environment has its code; some have a function instead."""
    return spec.entry_point if isinstance(spec.entry_point, str) else ""


def _newest(ids: Iterable[str], group: Callable[[str], str]) -> list[Row]:
    """Return a row for the newest version of each; the older ones are its other names."""
    versions: dict[str, list[tuple[int, str]]] = {}
    for env_id in ids:
        parsed = _VERSIONED.match(env_id)
        if parsed is not None:
            known = versions.setdefault(parsed["name"], [])
            known.append((int(parsed["version"]), env_id))
    rows = []
    for known in versions.values():
        *older, newest = [env_id for _, env_id in sorted(known)]
        rows.append({"id": newest, "group": group(newest), "also": older})
    return sorted(rows, key=lambda row: str(row["id"]))


def _list_gymnasium() -> list[Row]:
    groups = {
        spec.id: group
        for spec in _specs()
        for code, group in _GROUPS.items()
        if _code(spec).startswith(f"{code}.")
    }
    return _newest(groups, groups.__getitem__)


def _list_mujoco() -> list[Row]:
    if not _is_there("mujoco"):
        return []
    ids = [spec.id for spec in _specs() if _code(spec).startswith("gymnasium.envs.mujoco.")]
    return _newest(ids, lambda _: "")


def _list_atari() -> list[Row]:
    """Return the games under Gymnasium's ids; those of older times are other names of them."""
    ids = [spec.id for spec in _specs("ale_py") if _code(spec).startswith("ale_py.")]
    also: dict[str, list[str]] = {}
    for env_id in ids:
        game = re.sub(r"^ALE/|(NoFrameskip|Deterministic)?-v\d+$", "", env_id)
        also.setdefault(game, []).append(env_id)
    rows = []
    for game in sorted(also):
        env_id = f"ALE/{game}-v5"
        # envpool's name, which the CleanRL worker reads as well.
        others = {f"{game}-v5", *also[game]} - {env_id}
        rows.append({"id": env_id, "group": "", "also": sorted(others)})
    return rows


def _list_grids(prefix: str) -> list[Row]:
    ids = [spec.id for spec in _specs("minigrid") if spec.id.startswith(prefix)]
    return _newest(ids, lambda _: "")


def _list_dm_control() -> list[Row]:
    ids = [spec.id for spec in _specs("shimmy") if spec.id.startswith("dm_control/")]
    kept = [env_id for env_id in ids if "compatibility" not in env_id]
    is_suite = re.compile(r"dm_control/\w+-\w+-v\d+$").match
    return _newest(kept, lambda env_id: "Control suite" if is_suite(env_id) else "Composer")


def _list_pettingzoo() -> list[Row]:
    """Return the games by the names of their files: importing them all takes many seconds."""
    rows = []
    for package, group in _ZOO.items():
        folder = _folder(package)
        ids = [path.stem for path in sorted(folder.glob("*_v[0-9]*.py"))] if folder else []
        rows += _newest(ids, dict.fromkeys(ids, group).__getitem__)
    return rows


def _list_procgen() -> list[Row]:
    """Return the games under CleanRL's ids; those of envpool's easy levels are the same."""
    if not _is_there("envpool"):
        return []
    games = [game.id for game in load_games().values() if game.family == "procgen"]
    return [{"id": game, "group": "", "also": [f"{game.capitalize()}Easy-v0"]} for game in games]


def _folder(package: str) -> Path | None:
    """Return where a package lies, without importing it or what it lies in."""
    name, *rest = package.split(".")
    spec = importlib.util.find_spec(name)
    places = spec.submodule_search_locations if spec is not None else None
    return Path(places[0], *rest) if places else None


_LISTINGS: dict[str, Callable[[], list[Row]]] = {
    "gymnasium": _list_gymnasium,
    "mujoco": _list_mujoco,
    "atari": _list_atari,
    "minigrid": lambda: _list_grids("MiniGrid-"),
    "babyai": lambda: _list_grids("BabyAI-"),
    "procgen": _list_procgen,
    "dm_control": _list_dm_control,
    "pettingzoo": _list_pettingzoo,
}
assert set(_LISTINGS) <= set(FAMILIES)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
