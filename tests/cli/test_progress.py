"""What the progress line says, and that it fits."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.displays import PlainDisplay
from mosaic.cli.formatting import format_clock, format_count, format_duration, format_score
from mosaic.cli.progress import Progress
from mosaic.contracts.events import Event


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def metric(step: int, *returns: Any, tag: str = "charts/episodic_return") -> Event:
    points = {tag: [[step, value] for value in returns]}
    return Event("metric", "r", {"step": step, "values": {}, "points": points}, 0.0)


@pytest.fixture
def progress(clock: Clock) -> Progress:
    return Progress("ppo on CartPole-v1", 100_000, clock)


def test_before_the_first_point_it_is_starting(progress: Progress) -> None:
    assert progress.line(80) == "ppo on CartPole-v1  starting"


def test_the_rate_is_the_recent_one(progress: Progress, clock: Clock) -> None:
    for second in range(30):  # imports; then 100 steps a second; then 1,000
        clock.now = 100 + second
        step = second * 100 if second < 10 else 1_000 + (second - 10) * 1_000
        progress.update(metric(step))
    assert progress.steps_per_second == pytest.approx(1_000)
    assert progress.seconds_left == pytest.approx(80)


def test_the_return_is_the_mean_of_the_last_twenty_episodes(progress: Progress) -> None:
    progress.update(metric(1, *range(100)))
    assert progress.recent_return == pytest.approx(sum(range(80, 100)) / 20)


def test_strange_values_are_left_out(progress: Progress) -> None:
    progress.update(metric(1, "nan", None, float("inf"), 5, True))
    progress.update(Event("metric", "r", {"points": {"charts/episodic_return": 3}}, 0.0))
    progress.update(Event("metric", "r", {"step": "x", "points": []}, 0.0))
    assert progress.recent_return is not None
    assert progress.recent_return <= 5


def trained(progress: Progress, clock: Clock) -> Progress:
    for second in range(1, 6):
        clock.now = second
        progress.update(metric(second * 9_000, 123.456))
    return progress


@pytest.mark.parametrize(
    ("width", "parts"),
    [
        (120, ["ppo on CartPole-v1", "45k/100k steps", "return 123.5", "9k steps/s", "0:06 left"]),
        (80, ["ppo on CartPole-v1", "45k/100k", "return 123.5", "9k/s", "0:06 left"]),
        (60, ["ppo", "45k/100k", "return 123.5", "9k/s", "0:06 left"]),
        (40, ["45k/100k", "123.5", "9k/s", "0:06"]),
    ],
)
def test_the_line_at_common_widths(
    progress: Progress, clock: Clock, width: int, parts: list[str]
) -> None:
    line = trained(progress, clock).line(width)
    found = line.split("  ")
    bar = found.pop(1)
    assert found == parts
    assert set(bar) == {"━", "─"}
    assert bar.count("━") == int(0.45 * len(bar))
    assert len(line) == width or len(bar) == 30


@pytest.mark.parametrize("with_bar", [True, False])
def test_no_line_is_wider_than_the_terminal(clock: Clock, with_bar: bool) -> None:
    fresh = Progress("ppo_atari_envpool_xla_jax_scan on ALE/Breakout-v5", 10**8, clock)
    for width in range(1, 140):
        assert len(fresh.line(width, with_bar=with_bar)) <= width
    for width in range(1, 140):
        assert len(trained(fresh, clock).line(width, with_bar=with_bar)) <= width


def test_the_evaluation_is_announced(progress: Progress, clock: Clock) -> None:
    trained(progress, clock).update(metric(99_840, 500, tag="eval/episodic_return"))
    assert progress.line(100).endswith("evaluating")
    assert progress.step == 99_840


def test_a_run_that_waits_or_stands_still_says_so(progress: Progress, clock: Clock) -> None:
    progress.waiting = "waiting for 2 CPUs: 1 of 2 free"
    assert progress.line(80) == "ppo on CartPole-v1  waiting for 2 CPUs: 1 of 2 free"
    trained(progress, clock).standstill = "paused"
    assert progress.line(80).endswith("  9k steps/s  paused")


def test_without_a_budget_there_is_no_bar_and_no_time_left(clock: Clock) -> None:
    endless = Progress("ppo on CartPole-v1, evaluation", None, clock, unit="episodes")
    for second in range(1, 6):
        clock.now = second
        endless.advance(second * 10)
    line = "ppo on CartPole-v1, evaluation  50 episodes  return -  10 episodes/s  for 0:05"
    assert endless.line(100) == line
    for width in range(1, 100):
        assert len(endless.line(width)) <= width


def test_plain_lines_tell_at_once_why_a_run_waits(progress: Progress, clock: Clock) -> None:
    out = io.StringIO()
    with PlainDisplay(progress, out, clock) as display:
        display.tick()
        progress.waiting = "waiting for a GPU"
        display.tick()
        display.tick()
        progress.waiting = "starting"
        trained(progress, clock)
        display.tick()
    first, waiting, trains = out.getvalue().splitlines()
    assert first == "ppo on CartPole-v1  100,000 steps"
    assert waiting == "ppo on CartPole-v1  waiting for a GPU"
    assert "45k/100k steps" in trains


def test_plain_lines_come_every_five_seconds_at_most(progress: Progress, clock: Clock) -> None:
    out = io.StringIO()
    with PlainDisplay(progress, out, clock) as display:
        for tenth in range(200):
            clock.now = tenth / 10
            progress.update(metric(tenth * 100, 10.0))
            display.tick()
    lines = out.getvalue().splitlines()
    assert lines[0] == "ppo on CartPole-v1  100,000 steps"
    assert len(lines) == 1 + 3
    assert all("return 10.0" in line and "━" not in line for line in lines[1:])


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (52, "52"), (999, "999"), (1000, "1k"), (4096, "4.1k"), (99_840, "99.8k"),
     (999_999, "1M"), (1_250_000, "1.25M"), (10_000_000, "10M"), (-2500, "-2.5k")],
)  # fmt: skip
def test_counts(number: float, text: str) -> None:
    assert format_count(number) == text


def test_times_and_scores() -> None:
    assert [format_clock(s) for s in (0, 7.4, 750, 11_100)] == ["0:00", "0:07", "12:30", "3:05:00"]
    assert [format_duration(s) for s in (7.34, 75)] == ["7.3 s", "1:15"]
    assert [format_score(v) for v in (None, 0.5, -21, 475.26, 123_456)] == [
        "-", "0.50", "-21.0", "475.3", "123k",
    ]  # fmt: skip


def on_a_terminal(width: int, *words: str) -> str:
    """Run `mosaic` on a terminal of this width, and return all that it wrote."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        [sys.executable, "-m", "mosaic.cli", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment | {"TERM": "xterm-256color"},
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not chunk:
            break
        written += chunk
    os.close(ours)
    assert process.wait(timeout=30) == 0
    return written.decode()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_on_a_terminal_one_line_is_drawn_over_itself(
    toy_worker: None, workplace: Path, width: int
) -> None:
    written = on_a_terminal(width, "train", "toy", "--env-id", "Toy-v0", "--local")
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)
    lines = re.split(r"[\r\n]+", plain)
    assert "toy on Toy-v0  starting" in lines
    assert any(line.startswith("toy on Toy-v0: done after") for line in lines)
    assert max(map(len, lines)) <= width
