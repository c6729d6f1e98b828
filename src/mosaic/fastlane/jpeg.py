"""Frames as pictures that browsers and files take."""

from __future__ import annotations

import io
import threading

from mosaic.fastlane.frame import Frame, Pixels

QUALITY = 80


class Encoder:
    """Encodes the frames of one run, each once, however many viewers ask for it.

    It works when it is asked: without viewers there is nothing to encode. Threads may share it.
    """

    def __init__(self, quality: int = QUALITY) -> None:
        self._quality = quality
        self._lock = threading.Lock()
        # The last picture of each lane, and of the tiles.
        self._last: dict[int | None, tuple[tuple[int, float], bytes]] = {}
        self.encoded = 0

    def encode(self, frame: Frame) -> bytes:
        """Return the frame as JPEG."""
        key = frame.number, frame.timestamp
        with self._lock:
            known = self._last.get(frame.lane)
            if known is not None and known[0] == key:
                return known[1]
            picture = encode(frame.pixels, "JPEG", quality=self._quality)
            self._last[frame.lane] = key, picture
            self.encoded += 1
            return picture


def encode(pixels: Pixels, format: str, **options: object) -> bytes:
    """Return the pixels in a format of Pillow's: JPEG, PNG."""
    from PIL import Image  # here: a writer never needs it

    is_grey = pixels.ndim == 3 and pixels.shape[2] == 1
    out = io.BytesIO()
    Image.fromarray(pixels[:, :, 0] if is_grey else pixels).save(out, format, **options)
    return out.getvalue()
