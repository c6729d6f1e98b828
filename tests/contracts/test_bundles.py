"""Which bundle a run lives in, and what a run that lacks packages is told before it is accepted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts import needs
from mosaic.contracts.bundles import DOCUMENT, check_bundle_name, find_bundle, find_bundles
from mosaic.contracts.errors import ConfigError, DependencyMissing
from mosaic.contracts.needs import bundle_of, check_needs, needed_extras
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.schema import AlgorithmSchema

PPO = AlgorithmSchema("ppo", "m", "", ("gymnasium",), (), (), ())
ENVPOOL = AlgorithmSchema("ppo_atari_envpool", "m", "", ("atari",), ("envpool",), (), ())


@pytest.fixture
def paths(tmp_path: Path) -> VarPaths:
    return VarPaths(tmp_path)


def make(paths: VarPaths, name: str, **document: Any) -> None:
    folder = paths.bundles / name
    folder.mkdir(parents=True)
    (folder / DOCUMENT).write_text(json.dumps(document))


def test_a_bundle_that_is_not_there_says_how_it_is_made(paths: VarPaths) -> None:
    make(paths, "atari", extras=["atari"])
    with pytest.raises(DependencyMissing, match="Did you mean 'atari'") as caught:
        find_bundle(paths, "atarii")
    assert caught.value.hint == "Make it with: mosaic bundle create atarii --extra EXTRA"
    with pytest.raises(DependencyMissing) as caught:
        bundle_of(paths, "cleanrl:ppo", {})
    assert caught.value.hint == "Make it with: mosaic bundle create cleanrl --cleanrl"
    assert [each.name for each in find_bundles(paths)] == ["atari"]


def test_a_folder_that_is_half_made_is_no_bundle(paths: VarPaths) -> None:
    (paths.bundles / ".new-1-x").mkdir(parents=True)
    (paths.bundles / "y").mkdir()
    assert find_bundles(paths) == []


@pytest.mark.parametrize("name", ["", ".x", "../x", "a/b", "a b", "x" * 65, 3])
def test_a_name_is_a_name(name: object) -> None:
    with pytest.raises(ConfigError, match="bundle="):
        check_bundle_name(name)


def test_needs_come_from_the_algorithm_the_environment_and_the_options() -> None:
    assert needed_extras(PPO, "CartPole-v1", {}) == {}
    assert set(needed_extras(ENVPOOL, "ALE/Pong-v5", {"capture_video": True})) == {
        "envpool",
        "atari",
        "video",
    }
    for env_id, extra in [
        ("BreakoutNoFrameskip-v4", "atari"),
        ("BabyAI-GoToObj-v0", "minigrid"),
        ("HumanoidStandup-v5", "mujoco"),
        ("InvertedDoublePendulum-v4", "mujoco"),
        ("LunarLander-v3", "box2d"),
        ("dm_control/walker-walk-v0", "dm-control"),
    ]:
        assert list(needed_extras(PPO, env_id, {})) == [extra]


def test_what_is_not_installed_is_refused_with_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(needs, "missing_modules", lambda extra: ["ale_py"])
    with pytest.raises(DependencyMissing, match=r"env_id='ALE/Pong-v5' needs ale_py") as caught:
        check_needs(PPO, "ALE/Pong-v5", {}, None)
    assert "pip install 'mosaic-rl[atari]'" in caught.value.one_line()
    assert caught.value.exit_code == 3


def test_what_a_bundle_lacks_is_refused_with_the_command(paths: VarPaths) -> None:
    make(paths, "small", extras=["video"], satisfies=["video"])
    bundle = find_bundle(paths, "small")
    check_needs(PPO, "CartPole-v1", {"capture_video": True}, bundle)
    with pytest.raises(DependencyMissing, match="which bundle='small' lacks") as caught:
        check_needs(PPO, "ALE/Pong-v5", {}, bundle)
    assert "mosaic bundle create NAME --extra video --extra atari" in caught.value.one_line()
