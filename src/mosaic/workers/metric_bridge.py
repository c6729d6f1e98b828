"""The metric bridge: many points from the algorithm, at most two events a second to the reader."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mosaic.contracts.events import METRIC_INTERVAL_S, METRIC_POINTS_LIMIT
from mosaic.contracts.metrics import find_metric

EVALUATION_RETURN = "eval/episodic_return"


class _Bucket:
    """One point, or several neighbours merged: `step` is the last one's."""

    __slots__ = ("count", "high", "low", "step", "total")

    def __init__(self, step: int, value: float) -> None:
        self.step = step
        self.low = self.high = self.total = value
        self.count = 1

    def merge(self, other: _Bucket) -> None:
        self.step = other.step
        self.low = _pick(min, self.low, other.low)
        self.high = _pick(max, self.high, other.high)
        self.total += other.total
        self.count += other.count

    def to_json(self) -> list[float]:
        if self.count == 1:
            return [self.step, self.total]
        return [self.step, self.low, self.high, self.total / self.count]


def _pick(choose: Any, first: float, second: float) -> float:
    """Choose between two numbers; one that is NaN only where both are."""
    if math.isnan(first) or math.isnan(second):
        return second if math.isnan(first) else first
    return float(choose(first, second))


class _Series:
    """The points of one tag since the last event, `width` of them to a bucket."""

    def __init__(self) -> None:
        self.buckets: list[_Bucket] = []
        self._width = 1

    def add(self, step: int, value: float) -> None:
        point = _Bucket(step, value)
        if self.buckets and self.buckets[-1].count < self._width:
            self.buckets[-1].merge(point)
        else:
            self.buckets.append(point)

    def halve(self) -> None:
        self._width *= 2
        pairs = self.buckets
        self.buckets = pairs[::2]
        for bucket, neighbour in zip(self.buckets, pairs[1::2], strict=False):
            bucket.merge(neighbour)


class MetricBridge:
    """Collect points by tag, and hand them on in events.

    What it holds is bounded, however long nobody takes it: past `limit` points the longest series
    is merged, neighbour with neighbour, until the rest fits.
    """

    def __init__(
        self, *, interval_s: float = METRIC_INTERVAL_S, limit: int = METRIC_POINTS_LIMIT
    ) -> None:
        self.step = 0
        self._interval_s = interval_s
        self._limit = limit
        self._held = 0
        self._series: dict[str, _Series] = {}
        self._last: dict[str, float] = {}
        self._evaluation = (0, 0.0)  # episodes, sum of returns
        self._taken_at = -math.inf

    def add(self, step: int, values: Mapping[str, float]) -> None:
        for tag, value in values.items():
            self._last[tag] = value
            self._count(tag, step, value)
            series = self._series.setdefault(tag, _Series())
            before = len(series.buckets)
            series.add(step, value)
            self._held += len(series.buckets) - before
        while self._held > self._limit and self._shrink():
            pass

    def _count(self, tag: str, step: int, value: float) -> None:
        metric = find_metric(tag)
        if metric is None or metric.axis == "step":
            self.step = max(self.step, step)
        if tag == EVALUATION_RETURN:
            episodes, total = self._evaluation
            self._evaluation = (episodes + 1, total + value)

    def _shrink(self) -> bool:
        longest = max(self._series.values(), key=lambda series: len(series.buckets))
        before = len(longest.buckets)
        if before > 1:
            longest.halve()
        self._held -= before - len(longest.buckets)
        return before > 1

    def wait_s(self, now: float) -> float:
        """Return the seconds until the next event is allowed."""
        return max(0.0, self._taken_at + self._interval_s - now)

    def take(self, now: float) -> dict[str, Any] | None:
        """Return the payload of the next event, if one is due and there is something to say."""
        if not self._series or self.wait_s(now) > 0:
            return None
        return self._payload(now, {tag: self._last[tag] for tag in self._series})

    def take_last(self, now: float) -> dict[str, Any] | None:
        """Return the payload of the last event: every tag's final value."""
        return self._payload(now, dict(self._last)) if self._last else None

    def _payload(self, now: float, values: dict[str, float]) -> dict[str, Any]:
        points = {
            tag: [bucket.to_json() for bucket in series.buckets]
            for tag, series in self._series.items()
        }
        self._series = {}
        self._held = 0
        self._taken_at = now
        return {"step": self.step, "values": values, "points": points}

    @property
    def steps_per_second(self) -> float | None:
        return self._last.get("charts/SPS")

    def final_values(self) -> dict[str, float]:
        """Return the last value of each tag, and of the evaluation its mean return."""
        values = dict(self._last)
        episodes, total = self._evaluation
        if episodes:
            values[EVALUATION_RETURN] = total / episodes
        return values
