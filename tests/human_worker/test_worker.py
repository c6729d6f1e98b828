"""A person's run: played over its socket, recorded, replayed as it was, and kept as a dataset."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import h5py
import httpx
import pytest
from fastapi import FastAPI

from gym_gui.dataset_route import add_dataset, dataset_address, pack_dataset
from gym_gui.episodes import Painter, Replay, Shot, picture_of
from gym_gui.lines import Line
from gym_gui.live import Live
from human_worker import SCHEMA_PATH
from human_worker.describe import describe
from mosaic.contracts.errors import ConfigError, NotFound, StorageError
from mosaic.contracts.interactive import socket_path
from mosaic.proto import trainer_pb2 as pb
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
    bench: Bench, game: subprocess.Popen[str], tmp_path: Path
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
    check_dataset(bench.run_dir(RUN) / "dataset", steps)
    check_download(bench, tmp_path, steps)


def check_same(replay: Replay, ready: dict[str, Any], steps: list[dict[str, Any]]) -> None:
    """Drawn again from seed and actions, every picture and reward is the one that was live."""
    assert replay.note == ""
    assert replay.shots[0] == Shot(picture_of(ready))
    assert [shot.picture for shot in replay.shots[1:]] == [picture_of(step) for step in steps]
    assert [shot.step["reward"] for shot in replay.shots[1:] if shot.step] == [
        step["reward"] for step in steps
    ]


def check_dataset(datasets: Path, steps: list[dict[str, Any]]) -> None:
    """Look for the dataset as Minari does: its id is its place in the folder of datasets."""
    data = datasets / "frozenlake/human-v0" / "data"
    metadata = json.loads((data / "metadata.json").read_text())
    assert metadata["dataset_id"] == "frozenlake/human-v0"
    assert (metadata["total_episodes"], metadata["total_steps"]) == (1, len(steps))
    assert json.loads(metadata["env_spec"])["id"] == "FrozenLake-v1"
    with h5py.File(data / "main_data.hdf5") as file:
        episode = file["episode_0"]
        assert list(episode["actions"]) == [step["action"] for step in steps]
        assert list(episode["rewards"]) == [step["reward"] for step in steps]
        assert list(episode["observations"]) == [0, *(step["observation"] for step in steps)]
        assert episode.attrs["seed"] == 7


def check_download(bench: Bench, tmp_path: Path, steps: list[dict[str, Any]]) -> None:
    """The one file, unpacked into a folder of datasets, is the dataset."""
    name, packed = pack_dataset(bench.run_dir(RUN), has_ended=False)
    assert name == "frozenlake-human-v0.zip"
    with packed, zipfile.ZipFile(packed) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path / "datasets")
    check_dataset(tmp_path / "datasets", steps)


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """Return the directory of a run whose game goes on, with a dataset of one episode."""
    data = tmp_path / "runs" / RUN / "dataset" / "frozenlake" / "human-v0" / "data"
    data.mkdir(parents=True)
    for second, name in enumerate(("main_data.hdf5", "metadata.json")):
        (data / name).write_text("{}")
        os.utime(data / name, (second, second))
    return tmp_path / "runs" / RUN


def test_an_episode_that_is_being_written_is_waited_for(played: Path) -> None:
    [data] = played.rglob("main_data.hdf5")
    os.utime(data, (9, 9))
    with pytest.raises(StorageError, match="being written"):
        pack_dataset(played, has_ended=False, wait_s=0.0)
    pack_dataset(played, has_ended=True)[1].close()
    os.utime(data, (0, 0))
    pack_dataset(played, has_ended=False, wait_s=0.0)[1].close()


def test_the_download_holds_the_dataset_and_nothing_else(played: Path, tmp_path: Path) -> None:
    [metadata] = played.rglob("metadata.json")
    (metadata.parent / ".metadata.json.part").write_text("")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "main_data.hdf5").write_text("private")
    (played / "dataset" / "linked").symlink_to(tmp_path / "private")
    with pack_dataset(played, has_ended=False)[1] as packed, zipfile.ZipFile(packed) as archive:
        names = [f"frozenlake/human-v0/data/{name}" for name in ("main_data.hdf5", "metadata.json")]
        assert archive.namelist() == names
    metadata.unlink()
    with pytest.raises(NotFound, match="the first episode's end"):
        pack_dataset(played, has_ended=True)


class OneRun:
    """A live view, and its client, of a daemon that has one run."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir

    def need_client(self) -> OneRun:
        return self

    async def get_run(self, run_id: str) -> pb.RunDetails:
        if run_id != RUN:
            raise NotFound(f"There is no run {run_id!r}.")
        return pb.RunDetails(run_dir=str(self._run_dir))


async def test_the_download_is_a_file_with_the_name_of_the_dataset(played: Path) -> None:
    app = FastAPI()
    add_dataset(app, cast(Live, OneRun(played)))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://gui") as client:
        answer = await client.get(dataset_address(RUN))
        assert answer.headers["content-disposition"].endswith('"frozenlake-human-v0.zip"')
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            assert len(archive.namelist()) == 2
        assert (await client.get(dataset_address("OTHER"))).status_code == 404


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
