"""Which ids are accepted, which are refused, and what the user reads then."""

from __future__ import annotations

import sys

import gymnasium as gym
import pytest

from cleanrl_worker.envs import registry
from cleanrl_worker.envs.registry import Family, make, resolve
from mosaic.contracts.errors import (
    EXIT_CONFIG,
    EXIT_DEPENDENCY,
    ConfigError,
    DependencyMissing,
    MosaicError,
)


@pytest.mark.parametrize(
    ("env_id", "family"),
    [
        ("CartPole-v1", "gymnasium"),
        ("FrozenLake-v1", "gymnasium"),
        ("LunarLander-v3", "gymnasium"),
        ("HalfCheetah-v5", "mujoco"),
        ("MiniGrid-DoorKey-5x5-v0", "minigrid"),
        ("BabyAI-GoToRedBall-v0", "babyai"),
    ],
)
def test_every_family_resolves_and_is_made(env_id: str, family: str) -> None:
    env = resolve(env_id)
    assert (env.id, env.family, env.notes) == (env_id, family, ())
    made = make(env)
    made.reset(seed=1)
    made.close()


@pytest.mark.parametrize(
    ("env_id", "note"),
    [
        ("HalfCheetah-v4", "HalfCheetah-v4 is an older version: HalfCheetah-v5 is current."),
        ("CartPole-v0", "CartPole-v0 is an older version: CartPole-v1 is current."),
    ],
)
def test_an_older_version_is_taken_with_a_note(env_id: str, note: str) -> None:
    env = resolve(env_id)
    assert (env.id, env.notes) == (env_id, (note,))
    make(env).close()


def test_an_id_without_its_version_means_the_newest() -> None:
    env = resolve("CartPole")
    assert env.id == "CartPole-v1"
    assert env.notes == ("CartPole is taken as CartPole-v1, its newest version.",)


@pytest.mark.parametrize(
    ("env_id", "line"),
    [
        ("Taxi-v3", "env_id='Taxi-v3' does not exist in Gymnasium {gym}. Use 'Taxi-v4'."),
        ("LunarLander-v2", "does not exist in Gymnasium {gym}. Use 'LunarLander-v3'."),
        ("CartPole-v7", "does not exist in Gymnasium {gym}. Use 'CartPole-v1'."),
        (
            "HalfCheetah-v2",
            "is a name that Gymnasium {gym} keeps, but cannot make. Use 'HalfCheetah-v5'.",
        ),
        ("Ant-v3", "Use 'Ant-v5'."),
        ("HalfCheetah-v1", "Use 'HalfCheetah-v5'."),
        ("GymV21Environment-v0", "is a name that Gymnasium {gym} keeps, but cannot make."),
        ("CartPoel-v1", "is not a registered environment. Did you mean 'CartPole-v1'?"),
        ("MountainCarContinous-v0", "Did you mean 'MountainCarContinuous-v0'?"),
        ("MiniGrid-DorKey-5x5-v0", "Did you mean 'MiniGrid-DoorKey-5x5-v0'?"),
        ("minigrid-doorkey-5x5-v0", "Did you mean 'MiniGrid-DoorKey-5x5-v0'?"),
        ("DoorKey-5x5-v0", "Did you mean 'MiniGrid-DoorKey-5x5-v0'?"),
        ("no such thing", "env_id='no such thing' is not a registered environment."),
        ("", "env_id='' is not a registered environment."),
    ],
)
def test_a_wrong_id_is_refused_in_one_line(env_id: str, line: str) -> None:
    with pytest.raises(ConfigError) as refused:
        resolve(env_id)
    assert line.format(gym=gym.__version__) in refused.value.one_line()
    assert refused.value.exit_code == EXIT_CONFIG


def test_what_gymnasium_cannot_make_is_one_line() -> None:
    with pytest.raises(ConfigError) as refused:
        make(resolve("Pusher-v4"))
    line = refused.value.one_line()
    assert line.startswith("env_id='Pusher-v4' cannot be made here: `Pusher-v4` is only supported")
    assert line.endswith("Use 'Pusher-v5'.")


def test_an_error_of_gymnasium_is_one_line() -> None:
    gym.register("Broken-v0", entry_point=_broken)
    try:
        with pytest.raises(ConfigError, match="env_id='Broken-v0' cannot be made here: no wheels"):
            make(resolve("Broken-v0"))
    finally:
        del gym.registry["Broken-v0"]


def _broken() -> gym.Env[int, int]:
    raise gym.error.InvalidAction("no wheels")


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Family("minigrid", "package_not_here", "minigrid", 1, prefixes=("MiniGrid-",))
    monkeypatch.setattr(registry, "FAMILIES", (absent,))
    with pytest.raises(DependencyMissing) as refused:
        resolve("MiniGrid-Empty-5x5-v0")
    assert refused.value.exit_code == EXIT_DEPENDENCY
    assert refused.value.one_line() == (
        "env_id='MiniGrid-Empty-5x5-v0' needs the package 'package_not_here', which is not "
        "installed. Install it with: pip install 'mosaic-rl[minigrid]'"
    )


USER_MODULE = "tests.cleanrl_worker.envs.registering_module"


def test_a_module_is_not_imported_unless_it_is_allowed() -> None:
    sys.modules.pop(USER_MODULE, None)
    with pytest.raises(MosaicError) as refused:
        resolve(f"{USER_MODULE}:MosaicProbe-v0")
    assert "env_modules" in refused.value.one_line()
    assert refused.value.exit_code == EXIT_CONFIG
    assert USER_MODULE not in sys.modules


def test_an_allowed_module_registers_its_environments() -> None:
    env = resolve(f"{USER_MODULE}:MosaicProbe-v0", allowed_modules=[USER_MODULE])
    assert env.id == f"{USER_MODULE}:MosaicProbe-v0"
    make(env).close()


def test_an_allowed_module_that_is_not_there_is_named() -> None:
    with pytest.raises(DependencyMissing, match="needs the module 'not_here'"):
        resolve("not_here:Env-v0", allowed_modules=["not_here"])


@pytest.mark.parametrize("env_id", ["os:system", ":CartPole-v1", "a:b:CartPole-v1"])
def test_other_colons_are_refused_too(env_id: str) -> None:
    with pytest.raises(MosaicError):
        resolve(env_id)
