"""What the pages Environments and System, and the choice in the form, are made of."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gym_gui import environment_index as index_module
from gym_gui.diagnosis import diagnose
from gym_gui.environment_filter import EnvironmentFilter, environment_path, launch_path
from gym_gui.environment_index import EnvironmentIndex
from gym_gui.forms.environments import OTHER, by_family, known_environments
from gym_gui.run_processes import processes_by_run
from mosaic.catalog.environments import combine, documented
from mosaic.contracts.installed import EXTRAS
from mosaic.contracts.paths import VarPaths
from mosaic.workers.discovery import load_catalogue

ALGORITHMS = [entry.algorithm for entry in load_catalogue().entries.values()]


def chosen(**wanted: str) -> set[str]:
    found = EnvironmentFilter(**wanted).choose(documented(), ALGORITHMS)
    return {environment.id for environment in found}


def test_filters_narrow_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen() == set(documented().by_id)
    assert chosen(family="mujoco") > {"Ant-v5", "HalfCheetah-v5"}
    assert chosen(text="lander") == {"LunarLander-v3", "LunarLanderContinuous-v3"}
    assert chosen(text="LANDER", actions="box") == {"LunarLanderContinuous-v3"}
    assert chosen(family="mujoco", play="1") == set()
    assert "Pendulum-v1" not in chosen(algo="dqn")
    assert "CartPole-v1" in chosen(algo="dqn")
    monkeypatch.setitem(EXTRAS, "box2d", ("no_such_module",))
    assert "LunarLander-v3" not in chosen(installed="1")
    assert "CartPole-v1" in chosen(installed="1")


def test_addresses_reproduce_the_view() -> None:
    assert EnvironmentFilter().address == "/environments"
    wanted = EnvironmentFilter(family="atari", text="a b&c")
    assert wanted.address == "/environments?family=atari&text=a+b%26c"
    assert environment_path("ALE/Pong-v5") == "/environments/ALE/Pong-v5"
    assert environment_path("mine:Odd?-v0") == "/environments/mine%3AOdd%3F-v0"
    assert launch_path("CartPole-v1", "ppo") == "/launch?form=train&algo=ppo&env_id=CartPole-v1"


async def test_packages_are_asked_once_whoever_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def survey(paths: VarPaths) -> object:
        asked.append(paths)
        return combine({"gymnasium": {"environments": [{"id": "New-v0", "group": "", "also": []}]}})

    monkeypatch.setattr(index_module, "list_environments_async", survey)
    index = EnvironmentIndex(VarPaths(tmp_path))
    assert index.environments.get("New-v0") is None
    await asyncio.gather(index.complete(), index.complete())
    assert len(asked) == 1
    assert index.environments.get("New-v0") is not None


def test_the_form_offers_what_fits_tuned_ones_first() -> None:
    ppo = load_catalogue().find("ppo").algorithm
    known = known_environments(ppo)
    assert known[0] == ppo.tuned[0].env_id
    assert "Acrobot-v1" in known
    assert "Pendulum-v1" not in known
    families = by_family(["mine-v0", "ALE/Pong-v5", "CartPole-v1"])
    assert families == {
        "gymnasium": ["CartPole-v1"],
        "atari": ["ALE/Pong-v5"],
        OTHER: ["mine-v0"],
    }


async def test_the_doctor_is_asked_and_the_worst_comes_first(tmp_path: Path) -> None:
    paths = VarPaths(tmp_path)
    paths.settings.write_text("[trainer]\ncpus = 0\n")
    findings = await diagnose(paths)
    assert findings[0].name == "settings"
    assert findings[0].status == "problem"
    assert findings[0].fix == f"edit {paths.settings}"
    assert {"python", "core", "gpu", "disk"} <= {each.name for each in findings}


def test_processes_of_a_run_are_a_tree() -> None:
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    process = subprocess.Popen(
        [sys.executable, "-c", child],
        env={**os.environ, "MOSAIC_RUN_ID": "tree-of-two"},
        stdin=subprocess.PIPE,
    )
    try:
        found = processes_by_run()["tree-of-two"]
        while len(found) < 2:
            found = processes_by_run()["tree-of-two"]
        assert [each.depth for each in found] == [0, 1]
        assert found[1].parent == found[0].pid == process.pid
        assert found[0].memory_bytes > 0
    finally:
        process.communicate(b"\n", timeout=30)
