"""Curves: no extreme is lost, parts are joined at the seam, and gaps stay gaps."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_gui.axes import episode_ruler, time_ruler
from gym_gui.curves import Curve, join, mean_of, read_curve, refine, smooth, thin, until
from gym_gui.widgets.chart_drawing import Look, draw, options, tails
from mosaic.proto import trainer_pb2 as pb


def curve(values: list[float], *, start: int = 0, every: int = 10) -> Curve:
    steps = [start + every * (index + 1) for index in range(len(values))]
    bad = [0 if math.isfinite(value) else 1 for value in values]
    return Curve(
        steps, list(steps), list(values), list(values), list(values), [1] * len(steps), bad
    )


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300), st.integers(1, 50))
def test_thinning_keeps_extremes_counts_and_the_mean(values: list[float], limit: int) -> None:
    thinned = thin(curve(values), limit)
    assert len(thinned) <= limit
    assert min(thinned.low) == min(values)
    assert max(thinned.high) == max(values)
    assert thinned.total_count == len(values)
    assert mean_of(thinned) == pytest.approx(sum(values) / len(values), abs=1e-3)
    assert thinned.first[0] == 10
    assert thinned.last[-1] == 10 * len(values)


def test_thinning_counts_what_is_no_number() -> None:
    thinned = thin(curve([1.0, math.nan, 3.0, math.inf]), 1)
    assert (thinned.low, thinned.high, thinned.mean) == ([1.0], [3.0], [2.0])
    assert thinned.nonfinite == [2]
    assert math.isnan(thin(curve([math.nan] * 4), 2).mean[0])


def test_a_resumed_curve_drops_what_its_parent_did_past_the_checkpoint() -> None:
    parent, child = curve([1.0] * 10), curve([2.0] * 3, start=50)
    joined = join([until(parent, 50), child])
    assert joined.last == [10, 20, 30, 40, 50, 60, 70, 80]
    assert joined.mean == [1.0] * 5 + [2.0] * 3


def test_a_finer_look_replaces_the_middle_alone() -> None:
    coarse = curve([1.0, 2.0, 3.0, 4.0], every=100)
    fine = curve([2.5, 2.6], start=190, every=50)
    refined = refine(coarse, fine)
    assert refined.mean == [1.0, 2.0, 2.5, 2.6, 3.0, 4.0]
    assert refine(coarse, Curve()) == coarse


def test_smoothing_starts_at_the_first_value_and_leaves_gaps() -> None:
    smoothed = smooth([10.0, math.nan, 10.0], 0.9)
    assert smoothed[0] == pytest.approx(10.0)
    assert math.isnan(smoothed[1])
    assert smoothed[2] == pytest.approx(10.0)


def test_a_message_without_counts_of_bad_points_tells_them_by_their_values() -> None:
    series = pb.Series(
        tag="x",
        first_step=[1, 2],
        last_step=[1, 2],
        minimum=[1, math.nan],
        maximum=[1, math.nan],
        mean=[1, math.nan],
        count=[1, 1],
    )
    assert read_curve(series).total_nonfinite == 1


def test_only_the_new_end_of_a_line_is_sent() -> None:
    before = draw(curve([1.0, 2.0]), None, Look(smoothing=0))
    after = draw(curve([1.0, 2.0, 3.0]), None, Look(smoothing=0))
    assert tails(before, after)[2] == (2, [[30.0, 3.0]])


def test_a_logarithmic_scale_leaves_out_what_has_no_place_on_it() -> None:
    lines = draw(curve([-1.0, 0.0, 1.0]), None, Look(smoothing=0, is_log=True))
    assert [pair[1] for pair in lines[2]] == [None, None, 1.0]


def test_a_seam_is_marked_at_its_step() -> None:
    marks = options(Look(), marks=[(50.0, "resumed")])["series"][2]["markLine"]["data"]
    assert marks == [{"xAxis": 50.0, "name": "resumed"}]


def test_time_goes_on_behind_the_seam() -> None:
    parent = curve([100.0] * 10, every=100)  # 1,000 steps at 100 a second
    child = curve([50.0] * 10, start=1_000, every=100)
    ruler = time_ruler([(0, parent), (1_000, child)])
    assert ruler is not None
    assert ruler.at(1_000) == pytest.approx(10.0)
    assert ruler.at(2_000) == pytest.approx(30.0)
    assert ruler.step_at(30.0) == 2_000


def test_episodes_are_counted_and_no_episode_is_no_axis() -> None:
    ruler = episode_ruler(curve([1.0] * 5))
    assert ruler is not None
    assert ruler.at(50) == 5
    assert episode_ruler(Curve()) is None
