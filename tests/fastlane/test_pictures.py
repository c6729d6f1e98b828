"""Tiles, JPEG and the texts over the picture."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from mosaic.fastlane import hud
from mosaic.fastlane.jpeg import Encoder, encode
from mosaic.fastlane.reader import LaneReader
from mosaic.fastlane.status import Account, LaneStatus, Notice, ViewerInfo
from mosaic.fastlane.tiles import grid_shape
from mosaic.fastlane.writer import LaneWriter
from tests.fastlane.conftest import MakeLanes
from tests.fastlane.pictures import figures, picture


@pytest.mark.parametrize(
    ("count", "shape"),
    [
        *((1, (1, 1)), (2, (1, 2)), (3, (2, 2)), (4, (2, 2)), (5, (2, 3)), (6, (2, 3))),
        *((7, (2, 4)), (8, (2, 4)), (9, (3, 3)), (10, (3, 4)), (13, (3, 5)), (16, (4, 4))),
    ],
)
def test_the_shape_of_a_grid(count: int, shape: tuple[int, int]) -> None:
    assert grid_shape(count) == shape


def test_eight_environments_are_two_rows_of_four(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("run", lanes=8)
    writers = [LaneWriter(lanes.directory, index) for index in range(8)]
    with LaneReader("run") as reader:
        assert reader.read_grid() is None
        for index, writer in enumerate(writers):
            writer.write(np.full((20, 30, 3), 100 + index, np.uint8), figures(index))
        grid = reader.read_grid()
        assert grid is not None
        assert grid.pixels.shape == (40, 120, 3)
        corners = grid.pixels[::20, ::30, 0]
        assert corners.tolist() == [[100, 101, 102, 103], [104, 105, 106, 107]]
        assert grid.lane is None
        assert reader.read_grid() is None
        writers[5].write(np.full((20, 30, 3), 9, np.uint8), figures(9))
        again = reader.read_grid()
        assert again is not None
        assert again.pixels[20, 30, 0] == 9
        assert again.metrics.step == 9
        assert again.number > grid.number


def test_tiles_of_other_sizes_and_of_grey_stand_in_the_middle(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("run", lanes=4)
    LaneWriter(lanes.directory, 0).write(np.full((10, 20, 3), 200, np.uint8), figures(1))
    LaneWriter(lanes.directory, 3).write(np.full((4, 4), 250, np.uint8), figures(2))
    with LaneReader("run") as reader:
        grid = reader.read_grid()
    assert grid is not None
    assert grid.pixels.shape == (20, 40, 3)
    assert (grid.pixels[13:17, 28:32] == 250).all()
    assert grid.pixels[12, 30, 0] == grid.pixels[0, 30, 0] != 250


def test_two_viewers_get_a_picture_that_was_encoded_once(make_lanes: MakeLanes) -> None:
    lanes = make_lanes("run")
    writer = LaneWriter(lanes.directory, 0)
    encoder = Encoder()
    with LaneReader("run") as one, LaneReader("run") as other:
        for number in (1, 2):
            writer.write(picture(number), figures(number))
            frames = [reader.read() for reader in (one, other)]
            pictures = {encoder.encode(frame) for frame in frames if frame is not None}
            assert len(pictures) == 1
            assert encoder.encoded == number
    shown = Image.open(io.BytesIO(pictures.pop()))
    assert (shown.format, shown.size) == ("JPEG", (80, 60))


@pytest.mark.parametrize("shape", [(7, 9, 3), (7, 9, 1), (7, 9)])
def test_a_png_holds_every_pixel(shape: tuple[int, ...]) -> None:
    pixels = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    shown = np.asarray(Image.open(io.BytesIO(encode(pixels, "PNG"))))
    assert np.array_equal(shown, pixels.reshape(shown.shape))


def test_the_texts_are_those_of_the_contract() -> None:
    assert hud.connection(Notice(status="live")) == "Fast lane: connected"
    evaluating = Notice(status="live", is_evaluation=True)
    assert hud.connection(evaluating) == "Fast lane (Eval): connected"
    line = hud.evaluation(3, 50, 112.34, 90.06, 142.6)
    assert line == "eval batch 3 | episodes=50 avg=112.3 min=90.1 max=142.6"


def test_the_texts_say_why_there_is_no_frame_and_what_limits_them() -> None:
    notice = Notice(status="no_renderer", reason="EGL found no device")
    status = LaneStatus(notice, Account(7.25, "budget", 1.0, 50.0), ViewerInfo(1, 0.05))
    assert hud.lines(status, figures(10)) == [
        "Fast lane: no renderer (EGL found no device)",
        "reward 5.00 | return 20.0 | 1,010 steps/s | episode 1 step 10",
        "7.2 frames/s, limited by budget | 2.0% of the run's time, 5% allowed",
    ]


def test_writing_frames_needs_neither_pillow_nor_torch() -> None:
    code = (
        "import sys, mosaic.fastlane.lane_set, mosaic.fastlane.writer, mosaic.fastlane.reader,"
        "mosaic.fastlane.budget, mosaic.fastlane.jpeg;"
        "heavy = {'PIL', 'torch', 'gymnasium', 'pydantic'} & set(sys.modules);"
        "sys.exit(', '.join(heavy) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
