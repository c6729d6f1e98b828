"""What a step is on another axis: seconds of training, or episodes that had ended."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from gym_gui.curves import Curve

SPEED_TAG = "charts/SPS"
EPISODES_TAG = "charts/episodic_return"

AXES = {"steps": "environment steps", "time": "time (s)", "episodes": "episodes"}


@dataclass(frozen=True, slots=True)
class Ruler:
    """Pairs of step and value, both rising; what lies between is on a straight line."""

    steps: tuple[float, ...]
    values: tuple[float, ...]

    def at(self, step: float) -> float:
        return _between(self.steps, self.values, step)

    def step_at(self, value: float) -> int:
        return round(_between(self.values, self.steps, value))


def time_ruler(segments: Iterable[tuple[int, Curve]]) -> Ruler | None:
    """Return seconds of training from the speeds of a run and of those before it.

    A worker tells its mean speed since its own first step; so the time it has taken is the steps
    since then over that speed. Segments are pairs of first step and speeds, oldest first.
    """
    points = []
    before = 0.0
    for start, speeds in segments:
        points.append((float(start), before))
        for step, speed in zip(speeds.last, speeds.mean, strict=True):
            if speed > 0 and step > start:
                points.append((float(step), before + (step - start) / speed))
        before = points[-1][1]
    return _ruler(points)


def episode_ruler(returns: Curve) -> Ruler | None:
    """Return how many episodes had ended at a step."""
    counts = itertools.accumulate(returns.count)
    points = [(float(step), float(count)) for step, count in zip(returns.last, counts, strict=True)]
    return _ruler([(0.0, 0.0), *points])


def _ruler(points: list[tuple[float, float]]) -> Ruler | None:
    """Keep the points that rise in both: clocks and roundings go back a little now and then."""
    kept: list[tuple[float, float]] = []
    for step, value in points:
        if not kept or (step > kept[-1][0] and value > kept[-1][1]):
            kept.append((step, value))
    if len(kept) < 2:
        return None
    steps, values = zip(*kept, strict=True)
    return Ruler(steps, values)


def _between(xs: tuple[float, ...], ys: tuple[float, ...], x: float) -> float:
    """Interpolate; beyond the ends go on with the slope there."""
    right = min(max(bisect.bisect_right(xs, x), 1), len(xs) - 1)
    left = right - 1
    share = (x - xs[left]) / (xs[right] - xs[left])
    return ys[left] + share * (ys[right] - ys[left])
