"""Pictures for browsers: encoded once for all who look, and for nobody when nobody does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gym_gui.frames import Cameras
from mosaic.contracts.errors import ConfigError
from mosaic.fastlane.frame import FrameMetrics
from mosaic.fastlane.lane_set import LaneSet
from mosaic.fastlane.writer import LaneWriter

RUN = "a-run"


@pytest.fixture
def lanes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LaneSet]:
    monkeypatch.setenv("MOSAIC_FASTLANE_DIR", str(tmp_path))
    made = LaneSet.create(RUN, mode="single", lanes=1)
    yield made
    made.remove()


async def test_two_viewers_get_the_same_pictures(lanes: LaneSet) -> None:
    writer = LaneWriter(lanes.directory, 0)
    cameras = Cameras()
    streams = [cameras.stream(cameras.find(RUN)) for _ in range(2)]
    waiting = [asyncio.create_task(anext(stream)) for stream in streams]
    await asyncio.sleep(0.1)
    writer.write(np.full((40, 60, 3), 200, np.uint8), FrameMetrics(last_reward=1.0))
    parts = [await asyncio.wait_for(each, 10) for each in waiting]
    assert parts[0] == parts[1]
    assert b"image/jpeg" in parts[0]
    assert b"\xff\xd8" in parts[0]
    camera = cameras.find(RUN)
    assert camera.metrics is not None
    assert camera.viewers == 2
    for stream in streams:
        await stream.aclose()
    assert camera.viewers == 0


async def test_a_camera_that_nobody_looks_through_encodes_nothing(lanes: LaneSet) -> None:
    writer = LaneWriter(lanes.directory, 0)
    camera = Cameras().find(RUN, "0")
    camera.start()
    writer.write(np.zeros((40, 60, 3), np.uint8), FrameMetrics())
    await asyncio.sleep(0.3)
    assert camera.picture == b""
    assert camera.status is not None  # but it knows how things stand


@pytest.mark.parametrize(("run_id", "lane"), [("../x", "grid"), ("a", "-1"), ("a", "²"), ("", "0")])
def test_hostile_names_are_refused(run_id: str, lane: str) -> None:
    with pytest.raises(ConfigError):
        Cameras().find(run_id, lane)
