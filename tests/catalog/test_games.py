"""The pages: complete, and without a claim that another line contradicts."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from mosaic.catalog.controls import Control, joystick_controls, read_controls
from mosaic.catalog.environments import documented
from mosaic.catalog.families import FAMILIES
from mosaic.catalog.games import FILES, Game, load_games
from mosaic.catalog.page import environment_lines, family_lines

GAMES = load_games()
MUJOCO = (
    "Ant HalfCheetah Hopper Walker2d Humanoid HumanoidStandup InvertedPendulum "
    "InvertedDoublePendulum Reacher Pusher Swimmer"
)
PROCGEN = (
    "bigfish bossfight caveflyer chaser climber coinrun dodgeball fruitbot heist jumper leaper "
    "maze miner ninja plunder starpilot"
)


def of_family(name: str) -> list[Game]:
    return [game for game in GAMES.values() if game.family == name]


def test_every_family_has_its_games() -> None:
    assert len(GAMES) >= 60
    assert {game.id for game in of_family("mujoco")} == {f"{name}-v5" for name in MUJOCO.split()}
    assert {game.id for game in of_family("procgen")} == set(PROCGEN.split())
    assert [name for name in FAMILIES if not of_family(name)] == []


def test_every_file_of_pages_is_read() -> None:
    folder = files("mosaic.catalog") / "text"
    names = {each.name for each in folder.iterdir()}
    assert names == {f"{name}.toml" for name in FILES} | {f"{name}.md" for name in FAMILIES}


@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.id)
def test_a_page_says_everything(game: Game) -> None:
    told = (game.title, game.goal, game.observation, game.action, game.reward, game.episode)
    assert all(text and text == text.strip() for text in told)
    assert all(text.endswith(".") for text in told[1:])
    sizes = re.fullmatch(r"Discrete\((\d+)\)", game.action_space)
    if game.actions:
        assert sizes
        assert len(game.actions) == int(sizes[1])
    for control in game.controls:
        assert control.action < len(game.actions)
    assert len({control.keys for control in game.controls}) == len(game.controls)


def test_mujoco_is_for_agents_only() -> None:
    every = documented().by_id.values()
    assert not [each.id for each in every if each.family.name == "mujoco" and each.is_playable]
    assert not [each.id for each in every if each.actions == "box" and each.is_playable]
    assert [each.id for each in every if each.family.name == "atari" and not each.is_playable] == []


def test_keys_of_a_joystick() -> None:
    assert joystick_controls(["NOOP", "FIRE", "UPRIGHTFIRE"]) == (
        Control(("Space",), 1, "FIRE"),
        Control(("ArrowUp", "ArrowRight", "Space"), 2, "UPRIGHTFIRE"),
    )


def test_keys_that_are_held_together() -> None:
    (control,) = read_controls({"ArrowLeft+ArrowUp": 1}, ["stay", "jump left"])
    assert control.text == "← + ↑"
    assert control.meaning == "jump left"


def test_pages_are_markdown_with_every_part() -> None:
    text = "\n".join(environment_lines(documented().find("CartPole-v1")))
    for part in ("Observation", "Actions", "Reward", "Episode", "Keys"):
        assert f"**{part}.**" in text
    assert "| 0 | push left |" in text
    assert "For agents only" in "\n".join(environment_lines(documented().find("Ant-v5")))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_has_a_page(name: str) -> None:
    lines = "\n".join(family_lines(FAMILIES[name]))
    assert len(lines) > 200
    assert "**Needs.**" in lines
