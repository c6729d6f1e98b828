"""`mosaic envs`: families, the environments of one, and everything about one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.main import main

pytestmark = pytest.mark.usefixtures("surveyed")


@pytest.fixture(scope="module")
def shared_var(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("var")


@pytest.fixture
def surveyed(shared_var: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the tests share one survey."""
    monkeypatch.setenv("MOSAIC_VAR_DIR", str(shared_var))


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["envs", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_families(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["envs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["family", "known", "installed", "about"]
    assert lines[2].split()[:3] == ["mujoco", "11", "yes"]
    rows = {row["name"]: row for row in answer(capsys)}
    assert rows["atari"]["environments"] >= 100
    assert rows["atari"]["needs"][0]["command"].endswith("'mosaic-rl[atari]'")


def test_the_environments_of_a_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["envs", "gymnasium"]) == 0
    text = capsys.readouterr().out
    assert "CartPole-v1" in text
    assert "Keep a pole upright" in text
    rows = {row["id"]: row for row in answer(capsys, "gymnasium")}
    assert rows["Pendulum-v1"]["actions"] == "box"
    assert rows["Taxi-v4"]["group"] == "Toy text"
    assert rows["CartPole-v1"]["playable"]
    assert "ppo" in rows["CartPole-v1"]["algorithms"]


def test_everything_about_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["envs", "BreakoutNoFrameskip-v4"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("ALE/Breakout-v5: Breakout\n")
    assert "meanings:     0 NOOP, 1 FIRE, 2 RIGHT, 3 LEFT" in text
    one = answer(capsys, "Ant-v5")
    assert one["action_space"] == "Box(8) float32"
    assert not one["playable"]
    assert one["keys"].startswith("agents only.")


def test_one_without_a_page_is_asked_for_its_spaces(capsys: pytest.CaptureFixture[str]) -> None:
    one = answer(capsys, "MiniGrid-LavaGapS7-v0")
    assert one["action_space"] == "Discrete(7)"
    assert one["goal"] == ""


def test_a_name_that_nothing_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["envs", "CartPole-v9"]) == 2
    assert "Did you mean 'CartPole-v1'?" in capsys.readouterr().err
