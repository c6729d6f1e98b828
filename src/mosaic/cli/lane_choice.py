"""Which frames of a run `mosaic frames` and `mosaic view` show, and the figures with them."""

from __future__ import annotations

import math
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from mosaic.contracts.errors import ConfigError
from mosaic.fastlane.frame import Frame
from mosaic.fastlane.reader import LaneReader
from mosaic.fastlane.status import LaneStatus

GRID = "grid"


def add_choice(parser: ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="its id, or the beginning of it")
    parser.add_argument(
        "--lane", metavar="K|grid", help="a lane, from 0, or all as tiles; default: as the run does"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


class LaneChoice:
    """One lane of a run, or the tiles of all."""

    def __init__(self, reader: LaneReader, word: str | None) -> None:
        self._reader = reader
        self._word = word

    def read(self) -> Frame | None:
        status = self._reader.status()
        if status is None:
            return None
        lane = self._lane(status)
        return self._reader.read_grid() if lane is None else self._reader.read(lane)

    def _lane(self, status: LaneStatus) -> int | None:
        lanes = status.notice.lanes
        if self._word is None:
            return None if status.notice.mode == GRID else 0
        if self._word == GRID:
            return None
        if not self._word.isascii() or not self._word.isdigit() or int(self._word) >= lanes:
            allowed = "0" if lanes == 1 else f"0 to {lanes - 1}"
            raise ConfigError(f"--lane {self._word!r} is not allowed: give {allowed}, or {GRID}.")
        return int(self._word)


def describe(run_id: str, frame: Frame, status: LaneStatus) -> dict[str, Any]:
    """Return what `--json` prints of a frame."""
    height, width = frame.pixels.shape[:2]
    return {
        "run_id": run_id,
        "lane": GRID if frame.lane is None else frame.lane,
        "number": frame.number,
        "timestamp": frame.timestamp,
        "width": width,
        "height": height,
        **{name: _number(value) for name, value in asdict(frame.metrics).items()},
        "status": status.status,
        "rate_hz": status.account.rate_hz,
        "limited_by": status.account.limited_by,
    }


def _number(value: float) -> float | None:
    """Return a number that JSON has: there is no NaN in it."""
    return value if math.isfinite(value) else None
