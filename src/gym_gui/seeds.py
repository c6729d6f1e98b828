"""Several runs as one curve: their mean, and how sure it is."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from mosaic.proto import trainer_pb2 as pb

# Student's t, two-sided 95 %, for 1 to 30 degrees of freedom; beyond them the normal 1.96 is
# within 4 %.
_T95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_NORMAL95 = 1.96

# With two seeds the interval is thirteen standard errors wide, which says nothing of either.
FEWEST_FOR_INTERVAL = 3

BANDS = {
    "interval": "95 % confidence of the mean",
    "error": "standard error",
    "range": "lowest to highest",
    "none": "no band",
}


@dataclass(frozen=True, slots=True)
class Curve:
    """One run's values: `count` of a point says how many were averaged in it."""

    steps: tuple[float, ...]
    values: tuple[float, ...]
    counts: tuple[int, ...]


NOTHING = Curve((), (), ())


@dataclass(frozen=True, slots=True)
class Band:
    """The mean of several curves at each step, with its bounds; `runs` were averaged there."""

    steps: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    runs: tuple[int, ...]


def curve_of(series: pb.Series) -> Curve:
    """Return the finite means of an envelope, in the order of their steps."""
    points = [
        ((first + last) / 2, value, max(1, count))
        for first, last, value, count in zip(
            series.first_step, series.last_step, series.mean, series.count, strict=True
        )
        if math.isfinite(value)
    ]
    points.sort(key=lambda point: point[0])
    if not points:
        return Curve((), (), ())
    steps, values, counts = zip(*points, strict=True)
    return Curve(steps, values, counts)


def joined(parts: Iterable[Curve]) -> Curve:
    """Return the curves one behind the other."""
    known = list(parts)
    return Curve(
        tuple(step for part in known for step in part.steps),
        tuple(value for part in known for value in part.values),
        tuple(count for part in known for count in part.counts),
    )


def until(curve: Curve, step: float | None) -> Curve:
    """Return the points up to a step; all of them where there is none."""
    if step is None:
        return curve
    end = bisect.bisect_right(curve.steps, step)
    return Curve(curve.steps[:end], curve.values[:end], curve.counts[:end])


def combine(curves: Sequence[Curve], *, bins: int = 200, band: str = "interval") -> Band:
    """Average curves over equal bins of steps.

    A bin without a point of a run takes the value between its neighbours, so that runs which log at
    other steps can be averaged; nothing is made up before a run's first point or after its last.
    Where fewer than three runs are, the band is their range, whichever was asked for.
    """
    present = [curve for curve in curves if curve.steps]
    if not present:
        return Band((), (), (), (), ())
    start = min(curve.steps[0] for curve in present)
    width = (max(curve.steps[-1] for curve in present) - start) / bins or 1.0
    columns = [_binned(curve, start, width, bins) for curve in present]
    points = []
    for index in range(bins):
        values = [column[index] for column in columns if not math.isnan(column[index])]
        if values:
            low, high = _bounds(values, band)
            mean = sum(values) / len(values)
            points.append((start + (index + 0.5) * width, mean, low, high, len(values)))
    return Band(*zip(*points, strict=True))


def smooth(values: Sequence[float], weight: float) -> list[float]:
    """Return the exponential moving average, without the pull of its start towards zero."""
    if not 0 < weight < 1:
        return list(values)
    smoothed, total, norm = [], 0.0, 0.0
    for value in values:
        total = total * weight + value * (1 - weight)
        norm = norm * weight + (1 - weight)
        smoothed.append(total / norm)
    return smoothed


def half_width(values: Sequence[float]) -> float:
    """Return half of the 95 % confidence interval of a mean; 0 for a single value."""
    count = len(values)
    if count < 2:
        return 0.0
    t = _T95[count - 2] if count - 1 <= len(_T95) else _NORMAL95
    return t * _standard_error(values)


def _standard_error(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return math.sqrt(variance / len(values))


def _bounds(values: Sequence[float], band: str) -> tuple[float, float]:
    mean = sum(values) / len(values)
    if band == "none" or len(values) < 2:
        return mean, mean
    if band == "range" or len(values) < FEWEST_FOR_INTERVAL:
        return min(values), max(values)
    reach = half_width(values) if band == "interval" else _standard_error(values)
    return mean - reach, mean + reach


def _binned(curve: Curve, start: float, width: float, bins: int) -> list[float]:
    """Return the mean of each bin, NaN outside the curve."""
    sums, weights = [0.0] * bins, [0] * bins
    for step, value, count in zip(curve.steps, curve.values, curve.counts, strict=True):
        index = min(bins - 1, int((step - start) / width))
        sums[index] += value * count
        weights[index] += count
    means = [
        total / weight if weight else math.nan for total, weight in zip(sums, weights, strict=True)
    ]
    return _bridged(means, (index for index in range(bins) if weights[index]))


def _bridged(means: list[float], known: Iterable[int]) -> list[float]:
    filled = list(means)
    for left, right in pairwise(known):
        for index in range(left + 1, right):
            part = (index - left) / (right - left)
            filled[index] = means[left] * (1 - part) + means[right] * part
    return filled
