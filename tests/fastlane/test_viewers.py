"""Who looks on: viewers come, go, are killed, and ask for more."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from mosaic.fastlane.reader import LaneReader
from mosaic.fastlane.status import ViewerInfo
from mosaic.fastlane.viewers import ATTACHED_S
from mosaic.fastlane.writer import LaneWriter
from tests.fastlane.conftest import MakeLanes
from tests.fastlane.pictures import figures, first_line, is_whole, picture, started, wait_for


def test_a_viewer_counts_from_its_first_look_until_it_leaves(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("run", budget=0.01, view_budget=0.04)
    assert lanes.viewers() == ViewerInfo(0, 0.01)
    with LaneReader("run") as one, LaneReader("run") as other:
        one.read()
        assert lanes.viewers() == ViewerInfo(1, 0.04)
        other.status()
        assert lanes.viewers() == ViewerInfo(2, 0.04)
    assert lanes.viewers() == ViewerInfo(0, 0.01)


@pytest.mark.parametrize(("wanted", "budget"), [(0.2, 0.2), (0.9, 0.5), (0.01, 0.05)])
def test_a_viewer_raises_the_budget_of_a_running_run(
    make_lanes: MakeLanes, wanted: float, budget: float
) -> None:
    lanes = make_lanes("run")
    with LaneReader("run") as modest, LaneReader("run", wanted_budget=wanted) as eager:
        modest.read()
        eager.read()
        assert lanes.viewers() == ViewerInfo(2, budget)
        eager.wanted_budget = 0.3
        eager.read()
        assert lanes.viewers() == ViewerInfo(2, 0.3)
    assert lanes.viewers().budget == 0.02


def test_a_viewer_that_stops_reading_is_gone_after_two_seconds(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("run")
    with LaneReader("run") as reader:
        reader.read()
        assert lanes.viewers().count == 1
        time.sleep(ATTACHED_S + 0.1)
        assert lanes.viewers().count == 0
        reader.read()
        assert lanes.viewers().count == 1


def test_a_killed_viewer_is_gone_at_once_and_disturbs_nobody(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("run")
    writer = LaneWriter(lanes.directory, 0)
    writer.write(picture(1), figures(1))
    with started("reading_process", "run") as viewer, LaneReader("run") as reader:
        assert first_line(viewer) == "looking"
        assert reader.read() is not None
        wait_for(lambda: reader.status() and lanes.viewers().count == 2)
        viewer.kill()
        viewer.wait()
        reader.read()  # a look of long ago does not count, and a busy machine takes its time
        assert lanes.viewers().count == 1
        writer.write(picture(2), figures(2))
        frame = reader.read()
        assert frame is not None
        assert is_whole(frame)


def test_the_seventeenth_viewer_sees_as_much_as_the_others(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("run")
    LaneWriter(lanes.directory, 0).write(picture(1), figures(1))
    readers = [LaneReader("run") for _ in range(17)]
    assert all(reader.read() is not None for reader in readers)
    assert lanes.viewers().count == 16
    readers[0].close()
    readers[16].read()
    assert lanes.viewers().count == 16
    for reader in readers:
        reader.close()
    assert lanes.viewers().count == 0


def test_a_viewer_that_was_there_first_finds_the_lanes(
    lanes_parent: Path, make_lanes: MakeLanes
) -> None:
    with LaneReader("run") as reader:
        assert reader.read() is None
        assert reader.read_grid() is None
        assert reader.status() is None
        lanes = make_lanes("run")
        status = reader.status()
        assert status is not None
        assert status.status == "starting"
        assert lanes.viewers().count == 1
        LaneWriter(lanes.directory, 0).write(picture(1), figures(1))
        assert reader.read() is not None


def test_a_viewer_follows_lanes_that_are_made_anew(make_lanes: MakeLanes) -> None:
    with LaneReader("run") as reader:
        LaneWriter(make_lanes("run").directory, 0).write(picture(1), figures(1))
        assert reader.read() is not None
        again = make_lanes("run")
        LaneWriter(again.directory, 0).write(picture(2), figures(2))
        frame = reader.read()
        assert frame is not None
        assert frame.metrics.step == 2
        assert again.viewers().count == 1
