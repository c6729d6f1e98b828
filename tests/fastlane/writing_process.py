"""A run that does nothing but write frames: RUN COUNT (0: for ever) [WIDTHS...].

Each frame takes the next width in turn. It prints a line once the lanes are there.
"""

from __future__ import annotations

import itertools
import sys

from mosaic.fastlane.lane_set import LaneSet
from mosaic.fastlane.writer import LaneWriter
from tests.fastlane.pictures import figures, picture


def main() -> None:
    run_id, count, *widths = sys.argv[1:]
    lanes = LaneSet.create(run_id, mode="single", lanes=1)
    writer = LaneWriter(lanes.directory, 0)
    lanes.set_status("live")
    print("ready", flush=True)
    turns = itertools.cycle([int(width) for width in widths] or [80])
    numbers = itertools.count(1) if int(count) == 0 else range(1, int(count) + 1)
    for number in numbers:
        writer.write(picture(number, 60, next(turns)), figures(number))


if __name__ == "__main__":
    main()
