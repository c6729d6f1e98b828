"""Several seeds as one curve: the interquartile mean, and a bootstrap interval around it.

The interquartile mean leaves out the lowest and the highest quarter, so that one seed that failed,
or was lucky, does not move it as it moves a mean, and uses more of the data than a median (Agarwal
and others, "Deep Reinforcement Learning at the Edge of the Statistical Precipice", 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESAMPLES = 2_000
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Points:
    """What one run logged of a metric."""

    steps: Floats
    values: Floats


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One curve: `low` and `high` bound the interval; with one seed they are the curve."""

    steps: Floats
    middle: Floats
    low: Floats
    high: Floats
    seeds: int


def interquartile_mean(values: Floats) -> Floats:
    """Return the mean over the first axis without its lowest and highest quarter.

    With a number that four does not divide, the values at the edges count in part.
    """
    ordered = np.sort(values, axis=0)
    count = len(ordered)
    places = np.arange(count)
    # Of the value at place i, the part that lies between the quartiles.
    kept = np.minimum(places + 1, 0.75 * count) - np.maximum(places, 0.25 * count)
    weights = np.clip(kept, 0.0, 1.0)
    return np.asarray(np.tensordot(weights, ordered, axes=1) / weights.sum())


def aggregate(runs: Sequence[Points], *, bins: int = 100, seed: int = 0) -> Aggregate:
    """Bring runs together over the steps that all of them reached."""
    present = [run for run in runs if len(run.steps)]
    if not present:
        empty = np.empty(0)
        return Aggregate(empty, empty, empty, empty, 0)
    start = max(float(run.steps.min()) for run in present)
    end = min(float(run.steps.max()) for run in present)
    edges = np.linspace(start, max(end, start + 1.0), bins + 1)
    centres = (edges[:-1] + edges[1:]) / 2
    table = np.stack([_binned(run, edges, centres) for run in present])
    middle = interquartile_mean(table)
    low, high = _interval(table, seed) if len(present) > 1 else (middle, middle)
    return Aggregate(centres, middle, low, high, len(present))


def _binned(run: Points, edges: Floats, centres: Floats) -> Floats:
    """Return the mean of each bin; one without a point lies between its neighbours."""
    order = np.argsort(run.steps, kind="stable")
    steps, values = run.steps[order], run.values[order]
    places = np.clip(np.searchsorted(edges, steps, side="right") - 1, 0, len(centres) - 1)
    inside = (steps >= edges[0]) & (steps <= edges[-1])
    counts = np.bincount(places[inside], minlength=len(centres))
    sums = np.bincount(places[inside], weights=values[inside], minlength=len(centres))
    known = counts > 0
    return np.interp(centres, centres[known], sums[known] / counts[known])


def _interval(table: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return the percentile bootstrap interval over the seeds."""
    random = np.random.default_rng(seed)
    count = len(table)
    means = np.stack(
        [interquartile_mean(table[random.integers(0, count, count)]) for _ in range(RESAMPLES)]
    )
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return low, high
