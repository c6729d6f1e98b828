"""Environment ids: which family an id belongs to, what that needs, and how one is made."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from mosaic.contracts.errors import ConfigError, DependencyMissing, suggest


@dataclass(frozen=True, slots=True)
class Family:
    """A family of environments: the module that registers its ids, and the extra that brings it."""

    name: str
    prefixes: tuple[str, ...] = ()
    module: str | None = None
    extra: str | None = None
    entry_points: tuple[str, ...] = ()  # how Gymnasium's own ids of this family begin


GYMNASIUM = Family("gymnasium")
BOX2D = Family("gymnasium", module="Box2D", extra="box2d", entry_points=("gymnasium.envs.box2d",))
FAMILIES = (
    Family("babyai", ("BabyAI-",), "minigrid", "minigrid"),
    Family("minigrid", ("MiniGrid-",), "minigrid", "minigrid"),
    BOX2D,
    Family("mujoco", (), "mujoco", "mujoco", ("gymnasium.envs.mujoco",)),
)


@dataclass(frozen=True, slots=True)
class ResolvedEnv:
    id: str
    family: str
    notes: tuple[str, ...] = ()


def missing_extra(env_id: str, family: Family) -> DependencyMissing:
    return DependencyMissing(
        f"env_id={env_id!r} needs the package {family.module!r}, which is not installed.",
        hint=f"Install it with: pip install 'mosaic-rl[{family.extra}]'",
    )


def family_of(env_id: str) -> Family:
    """Return the family by the id's prefix, or by where Gymnasium's registry says it lives."""
    for family in FAMILIES:
        if family.prefixes and env_id.startswith(family.prefixes):
            return family
    spec = gym.registry.get(env_id)
    entry_point = spec.entry_point if spec is not None else None
    if isinstance(entry_point, str):
        for family in FAMILIES:
            if family.entry_points and entry_point.startswith(family.entry_points):
                return family
    return GYMNASIUM


def resolve(env_id: str) -> ResolvedEnv:
    """Check that the id can be made here; bad ones are refused by name."""
    family = family_of(env_id)
    if family.module is not None and importlib.util.find_spec(family.module) is None:
        raise missing_extra(env_id, family)
    if family.prefixes:
        assert family.module is not None
        gym.register_envs(importlib.import_module(family.module))
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        try:
            gym.spec(env_id)
        except gym.error.Error as error:
            raise _unknown(env_id, error) from None
    return ResolvedEnv(env_id, family.name, _notes(env_id, raised))


def _unknown(env_id: str, error: gym.error.Error) -> ConfigError:
    if isinstance(error, gym.error.DeprecatedEnv | gym.error.VersionNotFound):
        name = env_id.rpartition("-v")[0]
        versions = sorted(known for known in gym.registry if known.rpartition("-v")[0] == name)
        return ConfigError(
            f"env_id={env_id!r} does not exist in this version. Use {' or '.join(versions)}."
        )
    return ConfigError(
        f"env_id={env_id!r} is not a registered environment.{suggest(env_id, gym.registry)}"
    )


def _notes(env_id: str, raised: list[warnings.WarningMessage]) -> tuple[str, ...]:
    name, _, version = env_id.rpartition("-v")
    newest = max(
        (
            int(known.rpartition("-v")[2])
            for known in gym.registry
            if known.startswith(name + "-v") and known.rpartition("-v")[2].isdigit()
        ),
        default=None,
    )
    if version.isdigit() and newest is not None and newest > int(version):
        return (f"{env_id} is an older version: {name}-v{newest} is current.",)
    return ()


def make(env: ResolvedEnv, **options: Any) -> gym.Env[Any, Any]:
    """Make one environment, without the checker that costs time on every step."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # said once, by resolve's notes
            warnings.filterwarnings("ignore", message=".*out of date.*")
            return gym.make(env.id, disable_env_checker=True, **options)
    except gym.error.DependencyNotInstalled:
        raise missing_extra(env.id, family_of(env.id)) from None
