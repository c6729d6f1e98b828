"""What the pages claim, held against the environments themselves."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from mosaic.catalog.games import Game, load_games
from mosaic.catalog.spaces import space_text

GAMES = list(load_games().values())
_REGISTERING = {
    "atari": "ale_py",
    "minigrid": "minigrid",
    "babyai": "minigrid",
    "dm_control": "shimmy",
}
# Games and bodies take a while to load: these every time, all of them in the long suite.
_QUICK = {
    *("ALE/Pong-v5", "ALE/Breakout-v5", "ALE/Qbert-v5", "ALE/MontezumaRevenge-v5", "ALE/Skiing-v5"),
    *("dm_control/cartpole-swingup-v0", "dm_control/walker-walk-v0", "dm_control/fish-swim-v0"),
}
_GRID_ACTIONS = {
    "left": "turn left",
    "right": "turn right",
    "forward": "forward",
    "pickup": "pick up",
    "drop": "drop",
    "toggle": "open, shut or unlock",
    "done": "done",
}
_NUMBERS = ("one", "two", "three", "four", "five", "six")


def of_families(*names: str) -> list[Any]:
    return [pytest.param(game, id=game.id) for game in GAMES if game.family in names]


def some_of(family: str, quick: set[str]) -> list[Any]:
    return [
        pytest.param(game, id=game.id, marks=() if game.id in quick else pytest.mark.slow)
        for game in GAMES
        if game.family == family
    ]


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    """Register what the packages bring; importing does it once, so it stays for later tests.

    Names of Gymnasium's own that Shimmy takes over are given back.
    """
    before = dict(gym.registry)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in sorted(set(_REGISTERING.values())):
            gym.register_envs(importlib.import_module(module))
        yield
    gym.registry.update(before)


def make(game: Game) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gym.make(game.id, disable_env_checker=True)


def check_spaces(game: Game, observations: Any, actions: Any) -> None:
    assert space_text(observations) == game.observation_space
    assert space_text(actions) == game.action_space


@pytest.mark.parametrize("game", of_families("gymnasium", "mujoco", "minigrid", "babyai"))
def test_an_environment_is_as_its_page_says(game: Game) -> None:
    env = make(game)
    check_spaces(game, env.observation_space, env.action_space)
    named = re.search(r"cut off after ([\d,]+) steps", game.episode)
    limit = env.spec.max_episode_steps or getattr(env.unwrapped, "max_steps", None)
    if named:
        assert int(named[1].replace(",", "")) == limit
    elif game.family in ("gymnasium", "mujoco"):
        assert limit is None
    if game.family in ("minigrid", "babyai"):
        names = [action.name for action in env.unwrapped.actions][: env.action_space.n]
        assert tuple(map(_GRID_ACTIONS.__getitem__, names)) == game.actions
    for control in game.controls:
        assert env.action_space.contains(control.action)
    env.close()


@pytest.mark.parametrize("game", some_of("atari", _QUICK))
def test_an_atari_game_is_as_its_page_says(game: Game) -> None:
    env: Any = make(game)
    check_spaces(game, env.observation_space, env.action_space)
    assert tuple(env.unwrapped.get_action_meanings()) == game.actions
    named = re.search(r"last of (\w+) (lives|balls)", game.episode)
    if named:
        env.reset(seed=1)
        assert _NUMBERS[env.unwrapped.ale.lives() - 1] == named[1]
    env.close()


@pytest.mark.parametrize("game", some_of("dm_control", _QUICK))
def test_a_body_of_the_control_suite(game: Game) -> None:
    env = make(game)
    check_spaces(game, env.observation_space, env.action_space)
    env.close()


@pytest.mark.needs_system("qt5")
def test_the_games_of_procgen() -> None:
    envpool = pytest.importorskip("envpool")
    games = [game for game in GAMES if game.family == "procgen"]
    assert {f"{game.id.capitalize()}Easy-v0" for game in games} <= set(envpool.list_all_envs())
    spec = envpool.make_spec("CoinrunEasy-v0")
    for game in games:
        check_spaces(game, spec.gymnasium_observation_space, spec.gymnasium_action_space)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("game", of_families("pettingzoo"))
def test_a_game_of_several_players(game: Game) -> None:
    import ale_py

    package = {"Atari": "pettingzoo.atari", "MPE": "mpe2"}.get(
        game.group, f"pettingzoo.{game.group.lower()}"
    )
    module = importlib.import_module(f"{package}.{game.id}")
    roms = {"auto_rom_install_path": str(Path(ale_py.__file__).parent / "roms")}
    env = module.env(**(roms if game.group == "Atari" else {}))
    env.reset(seed=1)
    player = env.possible_agents[0]
    check_spaces(game, env.observation_space(player), env.action_space(player))
    env.close()
