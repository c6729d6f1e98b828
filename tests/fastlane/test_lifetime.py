"""Lanes end with their run, however it ends, and nothing stays behind."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from mosaic.fastlane.directory import lanes_root, run_directory
from mosaic.fastlane.lane_set import LaneSet
from mosaic.fastlane.reader import OWNER_GONE, LaneReader
from mosaic.fastlane.sweep import sweep
from mosaic.fastlane.writer import LaneWriter
from tests.fastlane.conftest import MakeLanes
from tests.fastlane.pictures import figures, first_line, is_whole, picture, started, wait_for


def never(run_id: str) -> bool:
    return False


def test_a_run_that_ends_takes_its_lanes_along(lanes_parent: Path) -> None:
    with started("writing_process", "run", 200) as run:
        assert first_line(run) == "ready"
        assert run.wait() == 0
    assert not lanes_root().exists()


def test_the_last_frame_stays_with_who_has_it(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("run")
    LaneWriter(lanes.directory, 0).write(picture(1), figures(1))
    lanes.set_status("live")
    with LaneReader("run") as reader:
        lanes.close()
        assert reader.read() is not None
        lanes.remove()
        assert reader.read() is None
        status = reader.status()
        assert status is not None
        assert (status.status, status.reason) == ("ended", "")


def test_a_run_killed_in_the_middle_of_a_frame(lanes_parent: Path) -> None:
    with started("writing_process", "run", 0, 600) as run, LaneReader("run") as reader:
        wait_for(reader.read)
        run.send_signal(signal.SIGKILL)
        run.wait()
        with LaneReader("run") as late:
            frame = late.read()
            assert frame is not None
            assert is_whole(frame)
            status = late.status()
        assert status is not None
        assert (status.status, status.reason) == ("ended", OWNER_GONE)
        # Its lanes go on where it was killed, a buffer half written or not.
        writer = LaneWriter(run_directory("run"), 0)
        for number in range(1, 10):
            writer.write(picture(number, 60, 600), figures(number))
            again = reader.read()
            assert again is not None
            assert is_whole(again)
        writer.close()
    assert sweep(never) == ["run"]


def test_the_sweep_takes_what_is_dead_and_nothing_else(make_lanes: MakeLanes) -> None:
    make_lanes("mine")
    with (
        started("writing_process", "killed", 0) as killed,
        started("writing_process", "adopted", 0) as adopted,
    ):
        assert first_line(killed) == first_line(adopted) == "ready"
    assert sweep(lambda run_id: run_id == "adopted") == ["killed"]
    assert sorted(os.listdir(lanes_root())) == ["adopted", "mine"]
    assert sweep(never) == ["adopted"]
    assert sweep(never) == []


def test_a_pid_that_was_given_to_another_process_is_no_owner(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("run")
    with (lanes.directory / "run").open("r+b") as file:
        file.seek(16)  # the start of the owner
        file.write((1).to_bytes(8, "little"))
    assert sweep(never) == ["run"]


def test_what_was_made_aside_by_the_dead_is_swept_too(lanes_parent: Path) -> None:
    with started("writing_process", "run", 1) as run:
        run.wait()
    root = lanes_root()
    for name in (f".new-{run.pid}-x", f".old-{run.pid}-y", f".new-{os.getpid()}-z"):
        (root / name).mkdir(parents=True)
    sweep(never)
    assert os.listdir(root) == [f".new-{os.getpid()}-z"]
    (root / f".new-{os.getpid()}-z").rmdir()
    root.rmdir()


def test_the_next_run_sweeps_where_no_daemon_does(
    lanes_parent: Path, make_lanes: MakeLanes
) -> None:
    with started("writing_process", "killed", 0) as run:
        assert first_line(run) == "ready"
    make_lanes("next")
    assert os.listdir(lanes_root()) == ["next"]


def test_a_fork_of_the_owner_takes_nothing_away(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("run")
    joined = LaneSet.join(lanes.directory)
    child = os.fork()
    if child == 0:
        lanes.remove()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert lanes.directory.exists()
    joined.set_status("no_renderer", "EGL:\n no   device " + "x" * 300)
    with LaneReader("run") as reader:
        status = reader.status()
    assert status is not None
    assert status.status == "no_renderer"
    assert status.reason.startswith("EGL: no device xxx")
    assert len(status.reason) == 200


def test_the_accounts_of_all_processes_are_one(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("run", lanes=3)
    with LaneReader("run") as reader:
        lanes.report(20.0, "interval", 0.5, 50.0)
        LaneSet.join(lanes.directory).report(12.5, "budget", 1.5, 50.0, place=2)
        status = reader.status()
    assert status is not None
    assert status.account == (12.5, "budget", 2.0, 100.0)
