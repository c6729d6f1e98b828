"""How soon a reader has a frame that was written: `python benchmarks/fastlane_latency.py`.

One process writes frames of 600x400 at thirty a second, another looks for a new one every
millisecond. Printed: the time from the stamp that the writer gives a frame, before it copies it, to
the moment at which the reader holds a checked copy of its own; and the size of the lane's files.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from mosaic.fastlane.directory import run_directory
from mosaic.fastlane.frame import FrameMetrics
from mosaic.fastlane.lane_set import LaneSet
from mosaic.fastlane.reader import LaneReader
from mosaic.fastlane.writer import LaneWriter

WIDTH, HEIGHT, RATE_HZ = 600, 400, 30
LONGEST_S, LARGEST_BYTES = 0.005, 8_000_000
RUN_ID = "bench-latency"


def write(frames: int) -> None:
    lanes = LaneSet.create(RUN_ID, mode="single", lanes=1)
    writer = LaneWriter(lanes.directory, 0)
    pixels = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    for number in range(frames):
        pixels[:, number % WIDTH] += 1
        writer.write(pixels, FrameMetrics(step=number))
        time.sleep(1 / RATE_HZ)
    writer.close()


def read(frames: int) -> tuple[list[float], int]:
    """Return what each frame took, in seconds, and the largest size of the lane's files."""
    taken: list[float] = []
    size_bytes = 0
    deadline = time.monotonic() + 30 + frames / RATE_HZ * 2
    with LaneReader(RUN_ID) as reader:
        while len(taken) < frames and time.monotonic() < deadline:
            frame = reader.read()
            if frame is None:
                time.sleep(0.001)
                continue
            taken.append(time.time() - frame.timestamp)
            if len(taken) == frames // 2:
                size_bytes = sum(file.stat().st_size for file in files(run_directory(RUN_ID)))
            if frame.metrics.step == frames - 1:
                break
    return taken, size_bytes


def files(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=900)
    frames = parser.parse_args().frames
    writer = multiprocessing.get_context("spawn").Process(target=write, args=(frames,))
    writer.start()
    taken, size_bytes = read(frames)
    writer.join()
    if len(taken) < frames / 2:
        print(f"only {len(taken)} of {frames} frames were read")
        return 1
    p99 = statistics.quantiles(taken, n=100)[98]
    print(
        f"{len(taken)} of {frames} frames of {WIDTH}x{HEIGHT}: median "
        f"{statistics.median(taken) * 1e3:.2f} ms, p99 {p99 * 1e3:.2f} ms "
        f"(under {LONGEST_S * 1e3:g} ms wanted), the longest {max(taken) * 1e3:.2f} ms"
    )
    print(f"the lane's files: {size_bytes / 1e6:.2f} MB (under {LARGEST_BYTES / 1e6:g} wanted)")
    return 0 if p99 < LONGEST_S and 0 < size_bytes < LARGEST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
