"""A viewer that checks every frame it gets: RUN. It ends when the run does."""

from __future__ import annotations

import sys

from mosaic.fastlane.reader import LaneReader
from tests.fastlane.pictures import is_whole


def main() -> int:
    seen = torn = doubled = last = 0
    with LaneReader(sys.argv[1]) as reader:
        print("looking", flush=True)
        while True:
            frame = reader.read()
            if frame is None:
                status = reader.status()
                if status is not None and status.status == "ended":
                    break
                continue
            seen += 1
            torn += not is_whole(frame)
            doubled += frame.number <= last
            last = frame.number
    print(f"{seen} {torn} {doubled} {last}")
    return 1 if torn or doubled else 0


if __name__ == "__main__":
    sys.exit(main())
