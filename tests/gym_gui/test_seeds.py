"""Seeds as one curve: the mean with a band, over runs that log at other steps."""

from __future__ import annotations

import math

import pytest

from gym_gui.seeds import NOTHING, Curve, combine, half_width, joined, smooth, until


def curve(*points: tuple[float, float]) -> Curve:
    steps, values = zip(*points, strict=True)
    return Curve(steps, values, (1,) * len(points))


def test_the_mean_and_students_interval_of_three_seeds() -> None:
    curves = [curve((0, value), (100, value)) for value in (1.0, 2.0, 3.0)]
    band = combine(curves, bins=4)
    assert set(band.mean) == {2.0}
    assert set(band.runs) == {3}
    # t(2) = 4.303, standard error = 1 / sqrt(3)
    assert band.high[0] - band.mean[0] == pytest.approx(4.303 / math.sqrt(3), rel=1e-3)


def test_nothing_is_made_up_beyond_the_ends_of_a_run() -> None:
    band = combine([curve((0, 1.0), (100, 1.0)), curve((0, 3.0), (50, 3.0))], bins=10)
    assert band.runs[0] == 2
    assert band.runs[-1] == 1
    assert (band.mean[0], band.mean[-1]) == (2.0, 1.0)


def test_between_the_points_of_a_run_lies_a_straight_line() -> None:
    band = combine([curve((0, 0.0), (100, 10.0))], bins=10, band="none")
    assert band.mean[5] == pytest.approx(5.0, abs=1.0)
    assert band.low == band.high


@pytest.mark.parametrize(
    ("kind", "low", "high"), [("range", 1.0, 3.0), ("none", 2.0, 2.0), ("error", 1.423, 2.577)]
)
def test_the_other_bands(kind: str, low: float, high: float) -> None:
    band = combine([curve((0, value)) for value in (1.0, 2.0, 3.0)], bins=1, band=kind)
    assert band.low[0] == pytest.approx(low, abs=1e-3)
    assert band.high[0] == pytest.approx(high, abs=1e-3)


@pytest.mark.parametrize("kind", ["interval", "error", "range"])
def test_of_two_seeds_the_band_is_their_range(kind: str) -> None:
    band = combine([curve((0, 1.0)), curve((0, 3.0))], bins=1, band=kind)
    assert (band.low[0], band.high[0]) == (1.0, 3.0)


def test_no_curve_and_empty_curves_give_an_empty_band() -> None:
    assert combine([]).steps == ()
    assert combine([NOTHING, NOTHING]).steps == ()


def test_one_value_has_no_interval() -> None:
    assert half_width([5.0]) == 0.0
    assert half_width([]) == 0.0


def test_a_continuation_is_joined_to_what_came_before() -> None:
    parent = curve((10, 1.0), (20, 2.0), (30, 9.0))
    whole = joined([until(parent, 20), curve((25, 3.0))])
    assert whole.steps == (10, 20, 25)
    assert whole.values == (1.0, 2.0, 3.0)
    assert until(parent, None) == parent


def test_smoothing_does_not_pull_towards_zero() -> None:
    assert smooth([5.0, 5.0, 5.0], 0.9) == pytest.approx([5.0, 5.0, 5.0])
    assert smooth([1.0, 2.0], 0.0) == [1.0, 2.0]
