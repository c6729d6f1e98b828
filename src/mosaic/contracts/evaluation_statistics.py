"""What the returns of an evaluation say, and how far they can be trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LEVEL = 0.95
# Resamples of the bootstrap; the ends move by less than a hundredth of the interval's width.
_RESAMPLES = 2_000
_MOST_BARS = 30


@dataclass(frozen=True, slots=True)
class Paired:
    """Two policies on the same seeds: the first one's returns less the second one's."""

    episodes: int
    difference: float
    low: float
    high: float
    wins: int
    ties: int
    losses: int

    @property
    def is_clear(self) -> bool:
        """Say whether the interval leaves out that both are the same."""
        return self.low > 0 or self.high < 0


def confidence_interval(values: Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of the mean, by the percentile bootstrap: returns are seldom normal.

    The same values give the same interval.
    """
    import numpy as np  # no command that only reads configs needs it

    array = np.asarray(values, np.float64)
    if len(array) < 2 or not np.isfinite(array).all():
        return (math.nan, math.nan)
    rng = np.random.default_rng(0)
    picks = rng.integers(0, len(array), (_RESAMPLES, len(array)))
    low, high = np.quantile(array[picks].mean(axis=1), [(1 - level) / 2, (1 + level) / 2])
    return (float(low), float(high))


def histogram(values: Sequence[float]) -> tuple[list[float], list[int]]:
    """Return the edges of bars of one width, and how many values lie in each."""
    import numpy as np

    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return [], []
    bars = min(max(int(math.sqrt(len(finite)) * 2), 5), _MOST_BARS)
    counts, edges = np.histogram(finite, bins=bars)
    return edges.tolist(), counts.tolist()


def compare(first: Sequence[float], second: Sequence[float]) -> Paired:
    """Compare two lists of returns, episode by episode."""
    differences = [one - other for one, other in zip(first, second, strict=True)]
    low, high = confidence_interval(differences)
    return Paired(
        episodes=len(differences),
        difference=sum(differences) / len(differences) if differences else math.nan,
        low=low,
        high=high,
        wins=sum(each > 0 for each in differences),
        ties=sum(each == 0 for each in differences),
        losses=sum(each < 0 for each in differences),
    )


def returns_by_seed(summary: Mapping[str, Any]) -> dict[int, float]:
    """Return the returns of a summary's episodes, by the seed of each."""
    results = summary.get("results")
    return {
        int(each["seed"]): float(each["return"])
        for each in (results if isinstance(results, list) else [])
        if isinstance(each, Mapping) and "seed" in each and "return" in each
    }


def compare_summaries(first: Mapping[str, Any], second: Mapping[str, Any]) -> Paired:
    """Compare two evaluations on the seeds that both have played."""
    one, other = returns_by_seed(first), returns_by_seed(second)
    shared = [seed for seed in one if seed in other]
    return compare([one[seed] for seed in shared], [other[seed] for seed in shared])


def highlights(results: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the best, the median and the worst episode."""
    if not results:
        return {}
    ranked = sorted(results, key=lambda each: (-each["return"], each["episode"]))
    return {"best": ranked[0], "median": ranked[len(ranked) // 2], "worst": ranked[-1]}
