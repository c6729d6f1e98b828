"""Several pictures as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mosaic.fastlane.frame import Frame, Pixels

_EMPTY = 24  # nearly black: a lane without a frame is told from a black picture


def grid_shape(count: int) -> tuple[int, int]:
    """Return rows and columns: as few empty tiles as can be, and at most twice as wide as high.

    Eight are 2 x 4, four 2 x 2, six 2 x 3, sixteen 4 x 4.
    """
    shapes = [(rows, -(-count // rows)) for rows in range(1, count + 1)]
    allowed = [(rows, columns) for rows, columns in shapes if rows <= columns <= 2 * rows]
    return min(allowed, key=lambda shape: (shape[0] * shape[1] - count, shape[1] - shape[0]))


def tile(frames: Sequence[Frame | None]) -> Frame | None:
    """Put the frames of lanes into one picture, each in the middle of its tile.

    It bears the time and the figures of the newest. Its number is the sum of theirs: it changes
    with each of them.
    """
    present = [frame for frame in frames if frame is not None]
    if not present:
        return None
    newest = max(present, key=lambda frame: frame.timestamp)
    number = sum(frame.number for frame in present)
    return Frame(_paste(frames, present), number, newest.timestamp, newest.metrics, None)


def _paste(frames: Sequence[Frame | None], present: Sequence[Frame]) -> Pixels:
    height = max(frame.pixels.shape[0] for frame in present)
    width = max(frame.pixels.shape[1] for frame in present)
    rows, columns = grid_shape(len(frames))
    canvas = np.full((rows * height, columns * width, 3), _EMPTY, np.uint8)
    for index, frame in enumerate(frames):
        if frame is None:
            continue
        pixels = frame.pixels if frame.pixels.ndim == 3 else frame.pixels[:, :, np.newaxis]
        top = index // columns * height + (height - pixels.shape[0]) // 2
        left = index % columns * width + (width - pixels.shape[1]) // 2
        # One channel of grey spreads over the three.
        canvas[top : top + pixels.shape[0], left : left + pixels.shape[1]] = pixels
    return canvas
