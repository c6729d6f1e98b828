"""`mosaic frames` and `mosaic view`: a run as its users watch it."""

from __future__ import annotations

import base64
import io
import json
import os
import pty
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mosaic.cli.main import main
from mosaic.cli.terminal_pictures import choose_protocol, draw
from mosaic.fastlane.directory import DIRECTORY_VARIABLE
from mosaic.fastlane.lane_set import LaneSet
from mosaic.fastlane.status import ViewerInfo
from mosaic.fastlane.writer import LaneWriter
from tests.fastlane.pictures import figures, picture

RUN = "01JCX0000000000000000000AA"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LaneSet]:
    """Have a run with four environments in a grid, and the newest frame of each."""
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    lanes = LaneSet.create(RUN, mode="grid", lanes=4)
    for index in range(4):
        LaneWriter(lanes.directory, index).write(picture(index), figures(index))
    lanes.set_status("live")
    yield lanes
    lanes.remove()


def answer(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) == 0
    return capsys.readouterr().out


def refusal(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) == 2
    [line] = capsys.readouterr().err.splitlines()
    return line


def opened(name: str) -> Image.Image:
    return Image.open(io.BytesIO(Path(name).read_bytes()))


def test_a_frame_is_written_as_the_run_shows_it(
    run: LaneSet, capsys: pytest.CaptureFixture[str]
) -> None:
    out = answer(["frames", RUN[:8], "--out", "frame.png"], capsys)
    assert out.startswith("frame.png: 160x120, reward ")
    assert opened("frame.png").size == (160, 120)


def test_one_lane_with_its_figures(run: LaneSet, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["frames", RUN, "--lane", "2", "--out", "frame.png", "--json"]
    told = json.loads(answer(words, capsys))
    expected = {"run_id": RUN, "lane": 2, "number": 1, "width": 80, "height": 60, "step": 2}
    assert expected.items() <= told.items()
    assert {"last_reward", "rolling_return", "step_rate_hz", "status", "limited_by"} <= told.keys()
    assert np.array_equal(np.asarray(opened("frame.png")), picture(2))


def test_a_jpeg(run: LaneSet, capsys: pytest.CaptureFixture[str]) -> None:
    answer(["frames", RUN, "--out", "frame.jpg"], capsys)
    assert opened("frame.jpg").format == "JPEG"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["02", "--out", "f.png"], "No run '02' shows live frames on this machine."),
        (["", "--out", "f.png"], "No run '' shows live frames on this machine."),
        (["01", "--out", "f.gif"], "--out 'f.gif': give a name that ends in .png or .jpg."),
        (["01", "--out", "no/f.png"], "--out 'no/f.png': there is no directory 'no'."),
        (["01", "--out", "f.png", "--lane", "4"], "--lane '4' is not allowed: give 0 to 3, or"),
        (["01", "--out", "f.png", "--lane", "-1"], "--lane '-1' is not allowed: give 0 to 3, or"),
        (["01"], "the following arguments are required: --out"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(
    run: LaneSet, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refusal(["frames", *words], capsys)
    assert not Path("f.png").exists()


def test_a_prefix_of_two_runs(run: LaneSet, capsys: pytest.CaptureFixture[str]) -> None:
    other = LaneSet.create("01JCX0000000000000000000BB", mode="single", lanes=1)
    line = refusal(["frames", "01J", "--out", "f.png"], capsys)
    assert f"'01J' may be any of {RUN}, 01JCX0000000000000000000BB" in line
    other.remove()


def test_a_run_without_a_renderer_says_why(
    run: LaneSet, capsys: pytest.CaptureFixture[str]
) -> None:
    lanes = LaneSet.create("dark", mode="single", lanes=1)
    lanes.set_status("no_renderer", "EGL found no device")
    line = refusal(["frames", "dark", "--out", "f.png"], capsys)
    assert "no frame of this run: Fast lane: no renderer (EGL found no device)." in line
    lanes.remove()


def test_the_first_frame_is_waited_for(run: LaneSet, capsys: pytest.CaptureFixture[str]) -> None:
    lanes = LaneSet.create("slow", mode="single", lanes=1)
    words = ["frames", "slow", "--out", "f.png"]
    assert "Fast lane: starting" in refusal([*words, "--wait", "0.1"], capsys)

    def render_later() -> None:
        time.sleep(0.2)
        LaneWriter(lanes.directory, 0).write(picture(1), figures(1))

    thread = threading.Thread(target=render_later)
    thread.start()
    answer(words, capsys)
    thread.join()
    lanes.remove()


def test_without_a_terminal_there_is_nothing_to_view(
    run: LaneSet, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refusal(["view", RUN], capsys)
    assert "This terminal cannot show pictures" in line
    assert "mosaic frames RUN --out frame.png" in line


def test_a_budget_beyond_the_half_is_refused(
    run: LaneSet, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refusal(["view", RUN, "--budget", "0.9"], capsys)
    assert "--budget 0.9 is not allowed: give 0 to 0.5." in line


def test_watching_a_run_until_it_ends(run: LaneSet) -> None:
    leader, follower = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    environment |= {"COLUMNS": "100", "LINES": "20"}
    environment.pop("TMUX", None)
    words = [sys.executable, "-m", "mosaic.cli", "view", RUN, "--budget", "0.25"]
    with subprocess.Popen(words, stdout=follower, stderr=follower, env=environment) as viewer:
        os.close(follower)
        shown = read_until(leader, "allowed")
        viewers = run.viewers()
        run.close()
        after = read_until(leader, None)
    os.close(leader)
    assert viewer.returncode == 0
    assert "▀" in shown
    assert "Fast lane: connected" in shown
    assert "25% allowed" in shown
    assert viewers == ViewerInfo(1, 0.25)
    assert "Fast lane: the run has ended" in after


def read_until(terminal: int, text: str | None) -> str:
    """Return what the terminal showed until this text came, or to the end."""
    shown = b""
    while text is None or text.encode() not in shown:
        try:
            got = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            got = b""
        if not got:
            break
        shown += got
    return shown.decode()


def test_figures_without_pictures(run: LaneSet) -> None:
    words = [sys.executable, "-m", "mosaic.cli", "view", RUN, "--lane", "1", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as viewer:
        assert viewer.stdout is not None
        line = viewer.stdout.readline()
        run.close()
    assert viewer.returncode == 0
    told = json.loads(line)
    assert (told["lane"], told["step"]) == (1, 1)


@pytest.mark.parametrize(
    ("environment", "protocol"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "blocks"),
        ({"TERM": "tmux-256color", "KITTY_WINDOW_ID": "1", "COLORTERM": "truecolor"}, "blocks"),
        ({"TERM": "xterm-256color"}, "blocks256"),
        ({"TERM": "dumb"}, None),
        ({"TERM": "vt100"}, None),
        ({}, None),
    ],
)
def test_a_terminal_is_taken_at_its_word(
    environment: Mapping[str, str], protocol: str | None
) -> None:
    assert choose_protocol(environment) == protocol


def test_blocks_fit_the_terminal_and_keep_the_shape() -> None:
    lines = draw("blocks", np.full((100, 200, 3), 7, np.uint8), 80, 40).split("\r\n")
    assert [line.count("▀") for line in lines] == [80] * 20
    assert lines[0] == "\x1b[38;2;7;7;7;48;2;7;7;7m" + "▀" * 80 + "\x1b[0m\x1b[K"


def test_kitty_gets_a_png_in_pieces() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (60, 60, 3), dtype=np.uint8)
    pieces = draw("kitty", noise, 80, 10).rstrip("\r\n").split("\x1b\\")[:-1]
    assert pieces[0].startswith("\x1b_Ga=T,f=100,i=1,p=1,q=2,C=1,c=20,r=10,m=1;")
    assert pieces[-1].startswith("\x1b_Gm=0;")
    data = "".join(piece.split(";", 1)[1] for piece in pieces)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(base64.b64decode(data)))), noise)
