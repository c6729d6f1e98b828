"""Numbers, times and places as people read them; every number with its unit."""

from __future__ import annotations

import math
import time

_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def count(value: float | None) -> str:
    """Return 12.3k for 12345."""
    if value is None or not math.isfinite(value):
        return "–"
    for size, letter in _UNITS:
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def number(value: float | None) -> str:
    if value is None:
        return "–"
    return str(value) if not math.isfinite(value) else f"{value:.4g}"


def duration(seconds: float | None) -> str:
    """Return 1:02:03, or 4.2 s for something short."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d} min"


def age(since: float | None, now: float | None = None) -> str:
    """Return how long ago a unix time was."""
    if since is None:
        return "–"
    seconds = max(0.0, (time.time() if now is None else now) - since)
    for size, word in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {word} ago"
    return "just now"


def size(count_bytes: float) -> str:
    for limit, word in ((2**30, "GB"), (2**20, "MB"), (2**10, "kB")):
        if count_bytes >= limit:
            return f"{count_bytes / limit:.1f} {word}"
    return f"{count_bytes:.0f} B"
