"""A lane from end to end: what is written is what is read, whatever its size."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest

from mosaic.contracts.errors import ConfigError, StorageError
from mosaic.fastlane.checksum import checksum
from mosaic.fastlane.directory import DIRECTORY_VARIABLE, lane_path, lanes_root
from mosaic.fastlane.frame import Pixels
from mosaic.fastlane.lane_set import LaneSet
from mosaic.fastlane.reader import LaneReader
from mosaic.fastlane.writer import LaneWriter
from tests.fastlane.conftest import MakeLanes
from tests.fastlane.pictures import figures, is_whole, picture


def test_a_frame_arrives_with_its_figures_and_only_once(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("run")
    writer = LaneWriter(lanes.directory, 0)
    writer.write(picture(1), figures(1))
    with LaneReader("run") as reader:
        frame = reader.read()
        assert frame is not None
        assert is_whole(frame)
        assert (frame.number, frame.lane, frame.metrics.step) == (1, 0, 1)
        assert reader.read() is None


def test_a_reader_gets_the_newest_and_none_of_those_between(make_lanes: MakeLanes) -> None:
    writer = LaneWriter(make_lanes("run").directory, 0)
    with LaneReader("run") as reader:
        for number in range(1, 8):
            writer.write(picture(number), figures(number))
        frame = reader.read()
        assert frame is not None
        assert frame.number == 7
        assert is_whole(frame)


@pytest.mark.parametrize(
    "pixels",
    [
        picture(1, 84, 84, 1)[:, :, 0],
        picture(1, 84, 84, 1),
        picture(1, 210, 160),
        picture(1, 1, 1),
        picture(1, 33, 7),
        # As pygame hands them out: columns of pixels.
        picture(1, 60, 40).transpose(1, 0, 2),
        picture(1, 60, 40)[::2, ::-1],
        picture(1, 60, 40)[:, :, ::-1],
        picture(1, 60, 40, 1)[:, :, 0].T,
    ],
    ids=lambda pixels: f"{pixels.shape}{pixels.strides}",
)
def test_any_picture_comes_through(make_lanes: MakeLanes, pixels: Pixels) -> None:
    writer = LaneWriter(make_lanes("run").directory, 0)
    writer.write(pixels, figures(1))
    with LaneReader("run") as reader:
        frame = reader.read()
    assert frame is not None
    assert frame.pixels.shape == pixels.shape
    assert np.array_equal(frame.pixels, pixels)


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((4, 4, 3), np.float32),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
        np.zeros(4, np.uint8),
    ],
    ids=lambda pixels: f"{pixels.shape}-{pixels.dtype}",
)
def test_what_is_no_picture_is_refused(make_lanes: MakeLanes, pixels: Pixels) -> None:
    writer = LaneWriter(make_lanes("run").directory, 0)
    with pytest.raises(ConfigError, match="cannot be shown: give uint8 pixels of shape"):
        writer.write(pixels, figures(1))


def test_the_size_changes_in_the_middle(make_lanes: MakeLanes) -> None:
    writer = LaneWriter(make_lanes("run").directory, 0)
    sizes = [(60, 80), (61, 80), (400, 600), (399, 600), (5, 5), (84, 84), (210, 160)]
    with LaneReader("run") as reader:
        for number, (height, width) in enumerate(sizes, start=1):
            writer.write(picture(number, height, width), figures(number))
            frame = reader.read()
            assert frame is not None
            assert frame.pixels.shape == (height, width, 3)
            assert frame.number == number
            assert is_whole(frame)


def test_a_lane_is_as_large_as_its_frame_needs(make_lanes: MakeLanes) -> None:
    path = lane_path(make_lanes("run").directory, 0)
    writer = LaneWriter(path.parent, 0)
    writer.write(picture(1, 400, 600), figures(1))
    assert 4 * 720_000 <= path.stat().st_size < 4 * 720_000 + 5 * 4096 < 8_000_000
    writer.write(picture(2, 84, 84), figures(2))
    assert path.stat().st_size < 110_000
    assert sorted(os.listdir(path.parent)) == ["lane-0", "run"]


def test_a_later_writer_goes_on_where_the_one_before_stopped(make_lanes: MakeLanes) -> None:
    directory = make_lanes("run").directory
    first = LaneWriter(directory, 0)
    first.write(picture(1), figures(1))
    first.close()
    with LaneReader("run") as reader:
        assert reader.read() is not None
        LaneWriter(directory, 0).write(picture(2), figures(2))
        frame = reader.read()
        assert frame is not None
        assert frame.number == 2


def test_nobody_else_can_read_the_lanes(make_lanes: MakeLanes) -> None:
    directory = make_lanes("run").directory
    LaneWriter(directory, 0).write(picture(1), figures(1))
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in (directory.parent, directory, *directory.iterdir())
    }
    expected = {directory.parent.name: 0o700, "run": 0o700, "lane-0": 0o600}
    assert modes == expected | {"run": 0o600}


def test_a_stranger_in_our_place_is_refused(lanes_parent: Path) -> None:
    target = lanes_parent / "elsewhere"
    target.mkdir()
    lanes_root().symlink_to(target)
    with pytest.raises(StorageError, match="is not a directory of this user"):
        LaneSet.create("run", mode="single", lanes=1)
    lanes_root().unlink()
    target.rmdir()


def test_a_directory_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path / "missing"))
    with pytest.raises(StorageError, match="cannot hold live frames: No such file"):
        LaneSet.create("run", mode="single", lanes=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"run_id": "../up"}, "run_id='../up' is not allowed"),
        ({"mode": "gird"}, "mode='gird' is not one of single, grid, off. Did you mean 'grid'?"),
        ({"lanes": 17}, "lanes=17 is not allowed: give 1 to 16."),
    ],
)
def test_a_wrong_word_is_one_clear_line(
    lanes_parent: Path, options: dict[str, object], message: str
) -> None:
    given = {"run_id": "run", "mode": "single", "lanes": 1} | options
    with pytest.raises(ConfigError) as refused:
        LaneSet.create(**given)  # type: ignore[arg-type]
    assert message in refused.value.one_line()


def test_the_checksum_sees_a_picture_of_two_halves() -> None:
    """A thing moves by a few pixels or rows, and the lower part of the picture is a frame old."""
    for width in (84, 160, 480, 512, 600, 1021, 2042):
        before = np.full((96, width, 3), 255, np.uint8)
        after = before.copy()
        before[60:70, 10:20] = 0
        for down, right in ((0, 8), (1, 0), (8, 0), (16, 0), (8, 8), (0, 16)):
            after[:] = 255
            after[60 + down : 70 + down, 10 + right : 20 + right] = 0
            for cut in range(50, 90, 3):
                torn = np.concatenate([after[:cut], before[cut:]])
                is_torn = not np.array_equal(torn, after)
                assert (checksum(torn) != checksum(after)) == is_torn
