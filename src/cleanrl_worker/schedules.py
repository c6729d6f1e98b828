"""Schedules of learning rates and exploration."""

from __future__ import annotations


def linear_to_zero(start: float, done: int, total: int) -> float:
    """Return `start` before anything is done, falling linearly to zero when all is done."""
    return start * (1.0 - done / total)
