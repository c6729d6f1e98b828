"""A metric series as the GUI holds it: buckets that hide no extreme, joined, thinned and smoothed.

Everything here is plain data and pure functions; what is drawn of it is in `widgets/`.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mosaic.proto import trainer_pb2 as pb

# What a browser draws without effort, and what a screen has room for.
MOST_POINTS = 2_000


@dataclass(slots=True)
class Curve:
    """Parallel columns; bucket i covers the steps first[i] to last[i]."""

    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    mean: list[float] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    nonfinite: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.last)

    @property
    def is_envelope(self) -> bool:
        """Say whether any bucket covers more than its mean."""
        return any(low < high for low, high in zip(self.low, self.high, strict=True))

    @property
    def total_count(self) -> int:
        return sum(self.count)

    @property
    def total_nonfinite(self) -> int:
        return sum(self.nonfinite)

    @property
    def last_value(self) -> float | None:
        return self.mean[-1] if self.mean else None

    def best(self) -> float | None:
        """Return the largest finite value."""
        finite = [value for value in self.high if math.isfinite(value)]
        return max(finite, default=None)

    def slice(self, start: int, stop: int | None = None) -> Curve:
        return Curve(*(column[start:stop] for column in self.columns()))

    def columns(self) -> tuple[list[Any], ...]:
        return (
            *(self.first, self.last, self.low, self.high, self.mean),
            *(self.count, self.nonfinite),
        )

    def extend(self, more: Curve) -> None:
        for mine, new in zip(self.columns(), more.columns(), strict=True):
            mine.extend(new)


def read_curve(series: pb.Series) -> Curve:
    """Return the columns of a message; new points carry no count of those that are not finite."""
    nonfinite = list(series.nonfinite) or [0 if math.isfinite(v) else 1 for v in series.mean]
    return Curve(
        list(series.first_step),
        list(series.last_step),
        list(series.minimum),
        list(series.maximum),
        list(series.mean),
        list(series.count),
        nonfinite,
    )


def join(parts: Iterable[Curve]) -> Curve:
    """Return the curves one behind the other."""
    joined = Curve()
    for part in parts:
        joined.extend(part)
    return joined


def until(curve: Curve, step: int) -> Curve:
    """Return the buckets that end at this step or before it."""
    return curve.slice(0, bisect.bisect_right(curve.last, step))


def refine(curve: Curve, detail: Curve) -> Curve:
    """Return the curve with its middle replaced by a finer look at the same steps."""
    if not len(detail):
        return curve
    before = bisect.bisect_left(curve.last, detail.first[0])
    behind = bisect.bisect_right(curve.first, detail.last[-1])
    return join([curve.slice(0, before), detail, curve.slice(behind)])


def thin(curve: Curve, limit: int = MOST_POINTS) -> Curve:
    """Return at most so many buckets, neighbours merged; no extreme is lost."""
    if len(curve) <= limit:
        return curve
    size = -(-len(curve) // limit)
    merged = Curve()
    for start in range(0, len(curve), size):
        merged.extend(_merge(curve.slice(start, start + size)))
    return merged


def _merge(part: Curve) -> Curve:
    low = [value for value in part.low if math.isfinite(value)]
    high = [value for value in part.high if math.isfinite(value)]
    return Curve(
        [part.first[0]],
        [part.last[-1]],
        [min(low, default=math.nan)],
        [max(high, default=math.nan)],
        [mean_of(part)],
        [part.total_count],
        [part.total_nonfinite],
    )


def mean_of(part: Curve) -> float:
    """Return the mean over the samples that are finite."""
    pairs = [
        (value, count - bad)
        for value, count, bad in zip(part.mean, part.count, part.nonfinite, strict=True)
        if math.isfinite(value) and count > bad
    ]
    weight = sum(count for _, count in pairs)
    return sum(value * count for value, count in pairs) / weight if weight else math.nan


def smooth(values: Sequence[float], weight: float) -> list[float]:
    """Return the exponential mean, corrected for its start, as TensorBoard draws it.

    What is not finite is left out of it, and stays a gap.
    """
    smoothed = []
    mean, taken = 0.0, 0
    for value in values:
        if math.isfinite(value):
            mean = weight * mean + (1.0 - weight) * value
            taken += 1
            smoothed.append(mean / (1.0 - weight**taken))
        else:
            smoothed.append(math.nan)
    return smoothed
