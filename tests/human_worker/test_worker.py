"""A person's run: played over its socket, recorded, replayed as it was, and kept as a dataset."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import pytest

from gym_gui.episodes import Painter, Replay, Shot, picture_of
from gym_gui.lines import Line
from human_worker import SCHEMA_PATH
from human_worker.describe import describe
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.interactive import socket_path
from tests.solo_workers import Bench

RUN = "01JHUMAN"
ACTIONS = [2, 1, 1, 2, 1, 2]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench("human_worker.cli", tmp_path)


@pytest.fixture
def game(bench: Bench) -> Iterator[subprocess.Popen[str]]:
    path = bench.config(RUN, algo="human", env_id="FrozenLake-v1", total_timesteps=1_000, seed=1)
    process = subprocess.Popen(
        bench.command(path), env=bench.variables, stdout=subprocess.PIPE, text=True, cwd=bench.root
    )
    deadline = time.monotonic() + 60
    while not socket_path(RUN).exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield process
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


async def test_an_episode_is_recorded_and_replayed_as_it_was(
    bench: Bench, game: subprocess.Popen[str]
) -> None:
    line = await Line.over_socket(socket_path(RUN))
    ready = await line.reset(seed=7)
    assert ready["keys"]["ArrowLeft"] == 0
    seen = []
    for action in ACTIONS:
        step, *end = await line.step(action)
        seen.append(step)
        if end:
            break
    await line.reset(seed=8)
    with pytest.raises(ConfigError, match="action=9 is not allowed"):
        await line.step(9)
    await line.stop()
    out, _ = await asyncio.to_thread(game.communicate)
    assert game.returncode == 0
    lines = [json.loads(text) for text in out.splitlines()]
    steps = [each for each in lines if each.get("type") == "step"]
    [episode] = [each for each in lines if each.get("type") == "episode"]
    assert episode["seed"] == 7
    assert [picture_of(step) for step in steps] == [picture_of(step) for step in seen]

    bare = [{**step, "render_payload": None} for step in steps]
    painter = Painter("FrozenLake-v1")
    for _ in range(2):  # the second time with the same process
        check_same(await painter.draw(7, bare), ready, steps)
    await painter.close()
    check_dataset(bench, steps)


def check_same(replay: Replay, ready: dict[str, Any], steps: list[dict[str, Any]]) -> None:
    """Drawn again from seed and actions, every picture and reward is the one that was live."""
    assert replay.note == ""
    assert replay.shots[0] == Shot(picture_of(ready))
    assert [shot.picture for shot in replay.shots[1:]] == [picture_of(step) for step in steps]
    assert [shot.step["reward"] for shot in replay.shots[1:] if shot.step] == [
        step["reward"] for step in steps
    ]


def check_dataset(bench: Bench, steps: list[dict[str, Any]]) -> None:
    data = bench.run_dir(RUN) / "dataset" / "frozenlake" / "human-v0" / "data"
    metadata = json.loads((data / "metadata.json").read_text())
    assert (metadata["total_episodes"], metadata["total_steps"]) == (1, len(steps))
    assert json.loads(metadata["env_spec"])["id"] == "FrozenLake-v1"
    with h5py.File(data / "main_data.hdf5") as file:
        episode = file["episode_0"]
        assert list(episode["actions"]) == [step["action"] for step in steps]
        assert list(episode["rewards"]) == [step["reward"] for step in steps]
        assert list(episode["observations"]) == [0, *(step["observation"] for step in steps)]
        assert episode.attrs["seed"] == 7


async def test_an_episode_that_does_not_fit_its_seed_is_told() -> None:
    steps = [{"action": 2, "reward": 5.0, "step_index": 0}]
    painter = Painter("FrozenLake-v1")
    replay = await painter.draw(7, steps)
    await painter.close()
    assert "Step 0 gave 5.0 and now gives 0.0" in replay.note


async def test_an_environment_that_cannot_be_built_is_one_line() -> None:
    with pytest.raises(ConfigError, match="env_id='Nowhere-v0' cannot be built"):
        await Line.to_process("human_worker.cli", "--env-id", "Nowhere-v0")


def test_the_schema_is_that_of_the_code() -> None:
    assert json.loads(SCHEMA_PATH.read_text()) == describe()
