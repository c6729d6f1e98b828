"""What returns say: intervals, bars, extremes, and two policies on the same seeds."""

from __future__ import annotations

import math

import pytest

from mosaic.contracts.evaluation_statistics import (
    compare,
    compare_summaries,
    confidence_interval,
    highlights,
    histogram,
)


def test_the_interval_holds_the_mean_and_narrows() -> None:
    few, many = [0.0, 1.0] * 10, [0.0, 1.0] * 1000
    low, high = confidence_interval(few)
    assert low < 0.5 < high
    narrow = confidence_interval(many)
    assert narrow[1] - narrow[0] < (high - low) / 3
    assert confidence_interval(few) == (low, high), "the same again"
    assert all(map(math.isnan, confidence_interval([1.0])))


def test_bars_hold_every_value() -> None:
    edges, counts = histogram([1.0, 2.0, 2.5, math.nan, 9.0])
    assert sum(counts) == 4
    assert (edges[0], edges[-1]) == (1.0, 9.0)
    assert len(edges) == len(counts) + 1
    assert histogram([]) == ([], [])


def test_a_comparison_is_paired() -> None:
    """Episodes differ far more than the policies do, and yet it is clear which is better."""
    first = [float(10 * n + 1) for n in range(50)]
    paired = compare(first, [float(10 * n) for n in range(50)])
    assert (paired.difference, paired.wins, paired.ties, paired.losses) == (1.0, 50, 0, 0)
    assert paired.is_clear
    assert not compare(first, first).is_clear


def test_summaries_are_compared_on_shared_seeds() -> None:
    one = {"results": [{"seed": 1, "return": 3}, {"seed": 2, "return": 5}]}
    other = {"results": [{"seed": 2, "return": 4}, {"seed": 3, "return": 9}]}
    paired = compare_summaries(one, other)
    assert (paired.episodes, paired.difference) == (1, 1.0)
    assert compare_summaries({}, {}).episodes == 0


def test_best_median_and_worst() -> None:
    results = [{"episode": n, "return": value} for n, value in enumerate([3.0, 9.0, 1.0, 4.0, 5.0])]
    found = {name: each["episode"] for name, each in highlights(results).items()}
    assert found == {"best": 1, "median": 3, "worst": 2}
    assert highlights([]) == {}
    assert highlights(results)["best"]["return"] == pytest.approx(9.0)
