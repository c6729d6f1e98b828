"""Pictures for the tests: made from a number, so that a reader can tell whether one is whole."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np

from mosaic.fastlane.frame import Frame, FrameMetrics, Pixels

ROOT = Path(__file__).parents[2]
Found = TypeVar("Found")


def picture(number: int, height: int = 60, width: int = 80, channels: int = 3) -> Pixels:
    """Return a picture of which every pixel depends on the number, and on its place."""
    size = height * width * channels
    ramp = np.arange(size, dtype=np.uint64) * 31 + number * 7919
    return (ramp >> 3).astype(np.uint8).reshape(height, width, channels)


def figures(number: int) -> FrameMetrics:
    return FrameMetrics(number / 2, number * 2.0, 1000.0 + number, number // 10, number)


def is_whole(frame: Frame) -> bool:
    """Say whether pixels, geometry and figures belong to one and the same frame."""
    expected = picture(frame.metrics.step, *frame.pixels.shape)
    is_same = frame.metrics == figures(frame.metrics.step)
    return is_same and bool(np.array_equal(frame.pixels, expected))


def wait_for(look: Callable[[], Found | None], timeout_s: float = 20.0) -> Found:
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.002)
    raise AssertionError("It did not come.")


@contextmanager
def started(module: str, *words: object) -> Iterator[subprocess.Popen[str]]:
    """Run a module of these tests in a process of its own, for no longer than the block."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    with subprocess.Popen(
        [sys.executable, "-m", f"tests.fastlane.{module}", *map(str, words)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()
