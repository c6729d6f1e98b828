"""One lane in memory: four buffers, each behind a sequence lock of its own.

    page 0      words: magic, bytes of pixels a buffer takes, number of the newest whole frame
    buffer k    word: sequence, odd while the buffer is written
                the frame's description, its checksum
                pixels, from byte 128 on

Frame n lies in buffer (n - 1) % 4. The writer waits for nobody: a reader that was overtaken sees
another sequence after its copy than before, and takes the newest frame then. Python has no memory
barriers, so that on processors that reorder stores the lock alone would not do: each frame carries
a checksum of its description and pixels.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

from mosaic.fastlane.checksum import checksum
from mosaic.fastlane.frame import Frame, FrameMetrics, Pixels
from mosaic.fastlane.mapped_file import (
    PAGE_BYTES,
    Identity,
    MappedFile,
    create_file,
    open_file,
    round_up,
)

BUFFERS = 4

_MAGIC = int.from_bytes(b"MOSLANE1", "little")
_MAGIC_WORD, _CAPACITY_WORD, _NEWEST_WORD = 0, 1, 2
# number, timestamp, height, width, channels (0: no such axis), reward, return, rate, episode, step
_DESCRIPTION = struct.Struct("=QdQQQdddqq")
_DESCRIPTION_BYTE = 8
_CHECKSUM_BYTE = _DESCRIPTION_BYTE + _DESCRIPTION.size
_PIXELS_BYTE = 128
_ATTEMPTS = 8


class LaneFile:
    """The mapped file of a lane; one process writes it, any number read it."""

    def __init__(self, file: MappedFile, index: int) -> None:
        self._file = file
        self._index = index
        self.capacity: int = file.words[_CAPACITY_WORD]
        self._stride = _stride(self.capacity)

    @classmethod
    def create(cls, path: Path, index: int, capacity: int) -> LaneFile:
        file = create_file(path, PAGE_BYTES + BUFFERS * _stride(capacity))
        file.words[_CAPACITY_WORD] = capacity
        file.words[_MAGIC_WORD] = _MAGIC
        return cls(file, index)

    @classmethod
    def open(cls, path: Path, index: int) -> LaneFile | None:
        """Map the lane; None where there is none, or one of another version."""
        file = open_file(path)
        if file is None:
            return None
        needed = PAGE_BYTES + BUFFERS * _stride(file.words[_CAPACITY_WORD])
        if file.words[_MAGIC_WORD] != _MAGIC or file.size_bytes < needed:
            file.close()
            return None
        return cls(file, index)

    @property
    def identity(self) -> Identity:
        return self._file.identity

    @property
    def newest(self) -> int:
        """The number of the newest whole frame; 0 before the first."""
        number: int = self._file.words[_NEWEST_WORD]
        return number

    def close(self) -> None:
        self._file.close()

    def put(self, number: int, pixels: Pixels, metrics: FrameMetrics, timestamp: float) -> None:
        """Write a frame that fits, and make it the newest."""
        at = self._buffer(number)
        words, memory = self._file.words, self._file.memory
        # A writer that was killed in the middle left an odd number: the next odd one follows.
        sequence = (words[at // 8] + 1) | 1
        words[at // 8] = sequence
        stored = np.frombuffer(memory, np.uint8, pixels.size, at + _PIXELS_BYTE)
        _copy_pixels(stored.reshape(pixels.shape), pixels)
        description = _describe(number, pixels, metrics, timestamp)
        begin = at + _DESCRIPTION_BYTE
        self._file.view[begin : begin + len(description)] = description
        words[(at + _CHECKSUM_BYTE) // 8] = checksum(stored, zlib.crc32(description))
        words[at // 8] = sequence + 1
        words[_NEWEST_WORD] = number

    def get(self) -> Frame | None:
        """Copy the newest frame; None where there is none, or none came through whole."""
        for _ in range(_ATTEMPTS):
            number = self.newest
            if number == 0:
                return None
            frame = self._copy(self._buffer(number))
            if frame is not None:
                return frame
        return None

    def _copy(self, at: int) -> Frame | None:
        words = self._file.words
        sequence = words[at // 8]
        if sequence % 2:
            return None
        begin = at + _DESCRIPTION_BYTE
        description = bytes(self._file.view[begin : begin + _DESCRIPTION.size])
        number, timestamp, height, width, channels, *figures = _DESCRIPTION.unpack(description)
        size = height * width * max(channels, 1)
        if size > self.capacity:
            return None
        pixels = np.frombuffer(self._file.memory, np.uint8, size, at + _PIXELS_BYTE).copy()
        expected = words[(at + _CHECKSUM_BYTE) // 8]
        if words[at // 8] != sequence or checksum(pixels, zlib.crc32(description)) != expected:
            return None
        shape = (height, width, channels) if channels else (height, width)
        metrics = FrameMetrics(*figures)
        return Frame(pixels.reshape(shape), number, timestamp, metrics, self._index)

    def _buffer(self, number: int) -> int:
        return PAGE_BYTES + (number - 1) % BUFFERS * self._stride


def _stride(capacity: int) -> int:
    return round_up(_PIXELS_BYTE + capacity)


def _copy_pixels(target: Pixels, source: Pixels) -> None:
    """Copy a picture whose rows may lie anywhere: pygame's lie in columns.

    Those are copied colour by colour, which takes a third of the time that one copy does.
    """
    if source.ndim == 2 or source.flags.c_contiguous:
        np.copyto(target, source)
    else:
        for channel in range(source.shape[2]):
            np.copyto(target[:, :, channel], source[:, :, channel])


def _describe(number: int, pixels: Pixels, metrics: FrameMetrics, timestamp: float) -> bytes:
    channels = pixels.shape[2] if pixels.ndim == 3 else 0
    return _DESCRIPTION.pack(
        number,
        timestamp,
        *pixels.shape[:2],
        channels,
        metrics.last_reward,
        metrics.rolling_return,
        metrics.step_rate_hz,
        metrics.episode,
        metrics.step,
    )
