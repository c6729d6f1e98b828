"""Numbers, times and paths as a person reads them."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path

_SCALES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def format_count(number: float) -> str:
    """Return 950, 8.1k, 100k, 1.25M."""
    for scale, letter in _SCALES:
        # 999,950 would round to 1000k.
        if abs(number) >= scale * 0.9995:
            return f"{_three_digits(number / scale)}{letter}"
    return f"{number:.0f}"


def _three_digits(value: float) -> str:
    text = f"{value:.2f}" if abs(value) < 9.995 else f"{value:.1f}" if abs(value) < 99.95 else ""
    return text.rstrip("0").rstrip(".") if text else f"{value:.0f}"


def format_score(value: float | None) -> str:
    """Return a return: four digits are enough to tell two apart."""
    if value is None or math.isnan(value):
        return "-"
    if abs(value) >= 10_000:
        return format_count(value)
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def format_clock(seconds: float) -> str:
    """Return 0:07, 12:30, 3:05:00."""
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def format_duration(seconds: float) -> str:
    """Return 7.3 s, or a clock from a minute on."""
    return f"{seconds:.1f} s" if seconds < 60 else format_clock(seconds)


def short_path(path: Path) -> str:
    """Return the path relative to the working directory where it lies below."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def format_age(seconds: float) -> str:
    """Return 12s, 5m, 3h, 8d."""
    for scale, letter in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= scale:
            return f"{int(seconds // scale)}{letter}"
    return f"{max(0, int(seconds))}s"


def format_moment(unix_s: float) -> str:
    """Return the local date and time."""
    return datetime.fromtimestamp(unix_s).strftime("%Y-%m-%d %H:%M:%S")
