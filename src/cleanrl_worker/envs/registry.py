"""Environment ids: which family an id belongs to, what that needs, and how one is made."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from cleanrl_worker.envs.sight import USUAL, Sight
from mosaic.contracts.errors import ConfigError, DependencyMissing, suggest
from mosaic.contracts.settings import OperatorSettings, check_env_id


@dataclass(frozen=True, slots=True)
class Family:
    """A family of environments, and the package that brings it.

    An id belongs to it by how it begins, by a word in it or by the `pattern` of all of it, in which
    case importing `module`, or `registering` in its place, registers the ids; or by where a
    registered id has its code. `step_us` is what a step of its cheaper environments costs, in
    microseconds on one core. `install` is the command for a package that is no extra of ours.
    """

    name: str
    module: str
    extra: str
    step_us: int
    prefixes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    pattern: str = ""
    registering: str = ""
    code: tuple[str, ...] = ()
    install: str = ""

    def owns(self, env_id: str, spec: EnvSpec | None) -> bool:
        if env_id.lower().startswith(tuple(prefix.lower() for prefix in self.prefixes)):
            return True
        if any(word.lower() in env_id.lower() for word in self.words):
            return True
        if self.pattern and re.fullmatch(self.pattern, env_id, re.IGNORECASE):
            return True
        entry_point = spec.entry_point if spec is not None else None
        return isinstance(entry_point, str) and entry_point.startswith(self.code)

    def is_installed(self) -> bool:
        return importlib.util.find_spec(self.module) is not None

    def register(self) -> None:
        if self.prefixes or self.registering:
            gym.register_envs(importlib.import_module(self.registering or self.module))


ATARI = Family(
    "atari",
    "ale_py",
    "atari",
    400,
    prefixes=("ALE/",),
    words=("NoFrameskip-",),
    code=("ale_py.",),
)
PLAYERS = Family("pettingzoo", "multi_agent_ale_py", "pettingzoo", 2000)
PACKAGE_OF_PLAYERS = "pettingzoo.atari"
_PLAYERS_NAME = re.compile(r"[a-z]+(_[a-z]+)*_v\d+")
PROCGEN = Family(
    "procgen",
    "envpool",
    "procgen",
    85,
    pattern="(bigfish|bossfight|caveflyer|chaser|climber|coinrun|dodgeball|fruitbot|heist|jumper|"
    "leaper|maze|miner|ninja|plunder|starpilot)((Easy|Hard|Extreme|Memory|Exploration)(-v0)?)?",
    registering="cleanrl_worker.envs.procgen",
    code=("cleanrl_worker.envs.procgen:",),
)
MINIGRID = Family("minigrid", "minigrid", "minigrid", 100, prefixes=("MiniGrid-",))
FAMILIES = (
    Family("gymnasium", "Box2D", "box2d", 33, code=("gymnasium.envs.box2d.",)),
    Family(
        "gymnasium", "jax", "jax", 100, code=("gymnasium.envs.phys2d.", "gymnasium.envs.tabular.")
    ),
    Family("mujoco", "mujoco", "mujoco", 50, code=("gymnasium.envs.mujoco.",)),
    MINIGRID,
    Family("babyai", "minigrid", "minigrid", 100, prefixes=("BabyAI-",)),
    ATARI,
    PROCGEN,
    # It pins an old Gymnasium and pygame, with which nothing else here works.
    Family(
        "memory_gym",
        "memory_gym",
        "",
        400,
        prefixes=tuple(
            f"{endless}{name}"
            for endless in ("", "Endless-")
            for name in ("MortarMayhem", "MysteryPath", "SearingSpotlights")
        ),
        install="pip install --no-deps memory-gym",
    ),
)
gym.register(
    "ProofofMemory-v0",
    "cleanrl_worker.envs.proof_of_memory:ProofOfMemory",
    max_episode_steps=16,
)
# Classic control, toy text, our own, and what users register themselves.
OTHERS = "gymnasium"
OTHERS_STEP_US = 5


@dataclass(frozen=True, slots=True)
class ResolvedEnv:
    """An id that can be made here. `notes` are for the user to read."""

    id: str
    family: str
    notes: tuple[str, ...] = ()
    step_us: int = OTHERS_STEP_US
    sight: Sight = USUAL


def resolve(
    env_id: str, allowed_modules: Collection[str] = (), sight: Sight = USUAL
) -> ResolvedEnv:
    """Check that the id can be made here; bad ones are refused by name.

    "module:Env" imports that module, so it is refused unless the module is among those allowed.
    """
    check_env_id(env_id, OperatorSettings(env_modules=tuple(allowed_modules)))
    if _PLAYERS_NAME.fullmatch(env_id):
        return _resolve_players(env_id, sight)
    module, separator, name = env_id.rpartition(":")
    if separator:
        _import_registering_module(env_id, module)
    family = _family_of(name)
    if family is ATARI or name not in gym.registry:
        _register_envpool_name(name)
        family = _family_of(name)
    if family is not None:
        if not family.is_installed():
            raise _missing(env_id, family)
        family.register()
    spec = _find_spec(name)
    family = family or _family_of(spec.id)
    return ResolvedEnv(
        module + separator + spec.id,
        OTHERS if family is None else family.name,
        _notes(name, spec),
        OTHERS_STEP_US if family is None else family.step_us,
        sight,
    )


def _resolve_players(name: str, sight: Sight) -> ResolvedEnv:
    """Resolve PettingZoo's name of an Atari game, which is that of a module."""
    if not PLAYERS.is_installed() or not ATARI.is_installed():
        raise _missing(name, PLAYERS)
    if importlib.util.find_spec(f"{PACKAGE_OF_PLAYERS}.{name}") is None:
        games = [found.name for found in pkgutil.iter_modules(_package_path(PACKAGE_OF_PLAYERS))]
        known = [game for game in games if _PLAYERS_NAME.fullmatch(game)]
        raise ConfigError(f"env_id={name!r} is no Atari game of PettingZoo.{suggest(name, known)}")
    return ResolvedEnv(name, PLAYERS.name, step_us=PLAYERS.step_us, sight=sight)


def _package_path(name: str) -> list[str]:
    found = importlib.util.find_spec(name)
    return list(found.submodule_search_locations or ()) if found is not None else []


def make(env: ResolvedEnv, *, whole_games: bool = False, **options: Any) -> gym.Env[Any, Any]:
    """Make one environment, without the checker that costs time on every step.

    With `whole_games` an Atari episode is a whole game, its rewards are points.
    """
    try:
        with without_version_warnings():
            if env.family == ATARI.name:
                from cleanrl_worker.envs.atari import make_game

                stack = env.sight.frame_stack
                return make_game(env.id, whole_games=whole_games, stack=stack, **options)
            if env.family == PLAYERS.name:
                from cleanrl_worker.envs.players import PlayersGame

                return PlayersGame(env.id, **options)
            if env.family == MINIGRID.name and env.sight.grid_pixels:
                from cleanrl_worker.envs.grid_pixels import make_grid

                return make_grid(env.id, **options)
            return gym.make(env.id, disable_env_checker=True, **options)
    except gym.error.DependencyNotInstalled as error:
        family = _family_of(env.id.rpartition(":")[2])
        if family is not None and not family.is_installed():
            raise _missing(env.id, family) from None
        raise DependencyMissing(f"env_id={env.id!r} cannot be made here: {error}") from None
    except (gym.error.Error, ImportError) as error:
        raise ConfigError(
            f"env_id={env.id!r} cannot be made here: {error}", hint=_newer(env.id)
        ) from None


@contextmanager
def without_version_warnings() -> Iterator[None]:
    """Keep Gymnasium from saying what the notes have said: that there is a newer version."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*out of date")
        yield


def _import_registering_module(env_id: str, module: str) -> None:
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise DependencyMissing(
            f"env_id={env_id!r} needs the module {module!r}, which cannot be imported: {error}.",
            hint="Install it where MOSAIC is installed.",
        ) from None


def _family_of(env_id: str) -> Family | None:
    spec = gym.registry.get(env_id)
    return next((family for family in FAMILIES if family.owns(env_id, spec)), None)


def _register_envpool_name(env_id: str) -> None:
    """Register `Breakout-v5`, whatever the version asked for: envpool's name of an Atari game.

    CleanRL's users know it. Its actions do not stick, unlike those of `ALE/Breakout-v5`.
    """
    others = [family for family in FAMILIES if family is not ATARI]
    if any(family.owns(env_id, None) for family in others) or not ATARI.is_installed():
        return
    ATARI.register()
    name = env_id.rpartition("-v")[0] if _has_version(env_id) else env_id
    game, newest = gym.registry.get(f"ALE/{name}-v5"), _newest(name)
    # Blackjack is a game of Gymnasium's, too.
    if game is not None and (newest is None or ATARI.owns(newest.id, newest)):
        options = {**game.kwargs, "repeat_action_probability": 0.0}
        if f"{name}-v5" not in gym.registry:
            gym.register(f"{name}-v5", game.entry_point, kwargs=options)


def _missing(env_id: str, family: Family) -> DependencyMissing:
    return DependencyMissing(
        f"env_id={env_id!r} needs the package {family.module!r}, which is not installed.",
        hint="Install it with: " + (family.install or f"pip install 'mosaic-rl[{family.extra}]'"),
    )


def _find_spec(env_id: str) -> EnvSpec:
    spec = gym.registry.get(env_id)
    newest = _newest(env_id)
    if spec is None and newest is not None and not _has_version(env_id):
        return newest
    if spec is None and newest is not None:
        raise ConfigError(
            f"env_id={env_id!r} does not exist in Gymnasium {gym.__version__}. Use {newest.id!r}."
        )
    if spec is None:
        raise _unknown(env_id)
    if not _is_real(spec):
        raise ConfigError(
            f"env_id={env_id!r} is a name that Gymnasium {gym.__version__} keeps, but cannot make.",
            hint=f"Use {newest.id!r}." if newest is not None else None,
        )
    return spec


def _unknown(env_id: str) -> ConfigError:
    for family in FAMILIES:
        if family.is_installed():
            family.register()
    return ConfigError(
        f"env_id={env_id!r} is not a registered environment.{suggest(env_id, gym.registry)}"
    )


def _is_real(spec: EnvSpec) -> bool:
    """Say whether there is code behind the id: old ones end in a function that raises."""
    return getattr(spec.entry_point, "__module__", None) != "gymnasium.envs"


def _has_version(env_id: str) -> bool:
    return env_id.rpartition("-v")[2].isdigit()


def _newest(env_id: str) -> EnvSpec | None:
    """Return the newest version of the environment that there is code for."""
    name = env_id.rpartition("-v")[0] if _has_version(env_id) else env_id
    versions = [
        spec
        for spec in gym.registry.values()
        if spec.version is not None and spec.id == f"{name}-v{spec.version}" and _is_real(spec)
    ]
    return max(versions, key=lambda spec: spec.version or 0, default=None)


def _newer(env_id: str) -> str | None:
    newest = _newest(env_id)
    return None if newest is None or newest.id == env_id else f"Use {newest.id!r}."


def _notes(asked: str, spec: EnvSpec) -> tuple[str, ...]:
    newest = _newest(spec.id)
    if asked != spec.id:
        return (f"{asked} is taken as {spec.id}, its newest version.",)
    if newest is not None and newest.id != spec.id:
        return (f"{spec.id} is an older version: {newest.id} is current.",)
    return ()
