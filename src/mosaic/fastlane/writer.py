"""The writing end of a lane."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from mosaic.contracts.errors import ConfigError
from mosaic.fastlane.directory import lane_path
from mosaic.fastlane.frame import FrameMetrics, Pixels
from mosaic.fastlane.lane_file import LaneFile

# A file stays while the frame takes at least this part of its room.
_LEAST_USE = 1 / 4


class LaneWriter:
    """Writes the frames of one environment, from whichever process steps it.

    One writer a lane at a time. A later one, in the same or in another process, goes on with the
    numbers of the one before. It waits for nobody and does not know who reads.
    """

    def __init__(self, directory: Path, index: int) -> None:
        self._path = lane_path(directory, index)
        self._index = index
        self._file: LaneFile | None = None
        self._number: int | None = None

    def write(self, frame: Pixels, metrics: FrameMetrics) -> None:
        """Make this frame, (height, width, 3 or 1) or (height, width), the newest of the lane.

        Raises ConfigError for what is no such picture, StorageError where there is no room for it.
        """
        _check(frame)
        if self._number is None:
            self._continue()
        assert self._number is not None
        self._number += 1
        if self._file is not None and _fits(self._file.capacity, frame.nbytes):
            self._file.put(self._number, frame, metrics, time.time())
        else:
            self._replace(frame, metrics, self._number)

    def close(self) -> None:
        """Let go of the memory; the last frame stays readable."""
        self._close_file()
        self._number = None

    def _continue(self) -> None:
        """Take over what an earlier writer of this lane left."""
        self._file = LaneFile.open(self._path, self._index)
        self._number = 0 if self._file is None else self._file.newest

    def _replace(self, frame: Pixels, metrics: FrameMetrics, number: int) -> None:
        """Put a file of this frame's size in the place of the old one, the frame in it already.

        Whoever reads the old one finds no newer frame there, and looks for this one.
        """
        aside = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        aside.unlink(missing_ok=True)
        file = LaneFile.create(aside, self._index, frame.nbytes)
        file.put(number, frame, metrics, time.time())
        os.replace(aside, self._path)
        self._close_file()
        self._file = file

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _fits(capacity: int, size_bytes: int) -> bool:
    return capacity * _LEAST_USE <= size_bytes <= capacity


def _check(frame: Pixels) -> None:
    is_picture = frame.ndim == 2 or (frame.ndim == 3 and frame.shape[2] in (1, 3))
    if frame.dtype != np.uint8 or not is_picture or frame.size == 0:
        raise ConfigError(
            f"A frame of shape {frame.shape} and type {frame.dtype} cannot be shown: give uint8 "
            f"pixels of shape (height, width, 3), (height, width, 1) or (height, width)."
        )
