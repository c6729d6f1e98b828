"""What is installed: asked of a process of its own, once, and told with what each needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mosaic.catalog import listing
from mosaic.catalog.environments import Environments, documented
from mosaic.catalog.families import FAMILIES, find_family
from mosaic.catalog.games import load_games
from mosaic.catalog.listing import describe_environment, list_environments
from mosaic.catalog.needs import is_installed, needs_of, needs_of_family
from mosaic.contracts import installed
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.installed import EXTRAS, has_library
from mosaic.contracts.paths import VarPaths
from mosaic.workers.discovery import load_catalogue


@pytest.mark.parametrize(
    ("usual", "env_id"),
    [
        ("BreakoutNoFrameskip-v4", "ALE/Breakout-v5"),
        ("Breakout-v5", "ALE/Breakout-v5"),
        ("HalfCheetah-v4", "HalfCheetah-v5"),
    ],
)
def test_the_names_that_cleanrls_users_know_are_known_before_any_package_was_asked(
    usual: str, env_id: str, everything: Environments
) -> None:
    assert documented().find(usual).id == everything.find(usual).id == env_id


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> VarPaths:
    return VarPaths(tmp_path_factory.mktemp("var"))


@pytest.fixture(scope="module")
def everything(paths: VarPaths) -> Environments:
    return list_environments(paths)


def test_the_registries_are_listed(everything: Environments) -> None:
    counts = {name: len(everything.of_family(name)) for name in FAMILIES}
    assert everything.problems == {}
    assert counts["mujoco"] == 11
    assert counts["procgen"] == 16
    assert counts["atari"] >= 100
    assert counts["minigrid"] + counts["babyai"] >= 170
    assert counts["dm_control"] >= 80
    assert counts["pettingzoo"] >= 40


@pytest.mark.usefixtures("everything")
def test_every_page_is_of_an_environment_that_there_is(paths: VarPaths) -> None:
    families = json.loads((paths.cache / "environments.json").read_text())["families"]
    found = {row["id"] for family in families.values() for row in family["environments"]}
    written = {game.id for game in load_games().values() if game.family != "procgen"}
    assert written - found == set()


def test_an_environment_is_found_by_its_other_names(everything: Environments) -> None:
    game = everything.find("ALE/Breakout-v5")
    assert everything.find("BreakoutNoFrameskip-v4") is game
    assert everything.find("Breakout-v5") is game
    assert everything.find("HalfCheetah-v4").id == "HalfCheetah-v5"
    with pytest.raises(ConfigError, match="Did you mean 'CartPole-v1'"):
        everything.find("Cartpole-v1")
    with pytest.raises(ConfigError, match="Did you mean 'atari'"):
        find_family("atarii")


def test_a_survey_is_made_once(
    everything: Environments, paths: VarPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_run", lambda command: pytest.fail("asks again"))
    assert list_environments(paths).by_id.keys() == everything.by_id.keys()
    monkeypatch.setattr(listing, "_versions", lambda: {"gymnasium": "0.0.1"})
    assert listing.kept_environments(paths) is None


def test_a_spoilt_cache_is_not_believed(tmp_path: Path) -> None:
    paths = VarPaths(tmp_path)
    paths.cache.mkdir()
    for text in ("", "[]", "{}", '{"versions": {}}'):
        (paths.cache / "environments.json").write_text(text)
        assert listing.kept_environments(paths) is None


def test_nothing_is_written_where_there_is_no_data_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = subprocess.CompletedProcess([], 0, '{"families": {}}', "")
    monkeypatch.setattr(listing, "_run", lambda command: answer)
    list_environments(VarPaths(tmp_path / "var"))
    assert not (tmp_path / "var").exists()


def test_a_survey_that_dies_leaves_the_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = subprocess.CompletedProcess([], -11, "", "Fatal Python error: Segmentation fault\n")
    monkeypatch.setattr(listing, "_run", lambda command: dead)
    found = list_environments(VarPaths(tmp_path))
    assert found.by_id.keys() == documented().by_id.keys()
    assert "ended with code -11" in found.problems["atari"]
    assert not (tmp_path / "cache").exists(), "the next one tries again"


def test_an_environment_without_a_page_is_asked_for_its_spaces() -> None:
    found = describe_environment("CliffWalking-v1")
    assert found["observation_space"] == "Discrete(48)"
    assert found["action_space"] == "Discrete(4)"
    assert "doesn't exist" in describe_environment("Nothing-v0")["problem"]


def test_what_is_missing_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "box2d", ("no_such_module",))
    lander = documented().find("LunarLander-v3")
    (need,) = needs_of(lander)
    assert not is_installed(lander)
    assert need.lacks == ("no_such_module",)
    assert need.command.endswith("'mosaic-rl[box2d]'")
    assert needs_of(documented().find("CartPole-v1")) == []


def test_system_libraries_are_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert not has_library("libnothing.so.1")
    monkeypatch.setattr(installed, "_LIBRARY_FOLDERS", (str(tmp_path),))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    system = needs_of_family(FAMILIES["procgen"])[1]
    assert system.lacks == ("libQt5Core.so.5", "libQt5Gui.so.5")
    assert system.command == "apt-get install libqt5core5a libqt5gui5"
    (tmp_path / "x86_64-linux-gnu").mkdir()
    (tmp_path / "x86_64-linux-gnu" / "libQt5Core.so.5").touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert needs_of_family(FAMILIES["procgen"])[1].lacks == ("libQt5Gui.so.5",)


def test_algorithms_fit_by_family_and_kind_of_action(everything: Environments) -> None:
    algorithms = [entry.algorithm for entry in load_catalogue().entries.values()]

    def fitting(env_id: str) -> set[str]:
        return {each.name for each in everything.find(env_id).fitting(algorithms)}

    assert {"ppo", "dqn"} <= fitting("CartPole-v1")
    assert "ppo_continuous_action" not in fitting("CartPole-v1")
    assert "sac_continuous_action" in fitting("Pendulum-v1")
    assert not {"ppo", "dqn"} & fitting("Pendulum-v1")
    assert "ppo_atari" in fitting("ALE/Pong-v5")
    assert fitting("connect_four_v3") == set()
    first, *_ = everything.find("CartPole-v1").fitting(algorithms)
    assert any(row.env_id == "CartPole-v1" for row in first.tuned)


def test_the_catalogue_imports_no_environment() -> None:
    code = (
        "import sys, mosaic.catalog.listing, mosaic.catalog.page, mosaic.catalog.needs\n"
        "mosaic.catalog.environments.documented()\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"gymnasium", "numpy", "torch", "jax", "pydantic", "mujoco", "ale_py", "envpool"}
    assert not heavy & set(done.stdout.split())
