"""What goes wrong in training is seen, and what only looks like it is not."""

from __future__ import annotations

import math

import pytest

from gym_gui.curves import Curve
from gym_gui.watchdogs import (
    find_collapse,
    find_frozen_return,
    find_full_disk,
    find_large_kl,
    find_nan,
    find_slowdown,
    look,
)


def curve(values: list[float], *, every: int = 100) -> Curve:
    """Return one bucket a value."""
    steps = [every * (index + 1) for index in range(len(values))]
    bad = [0 if math.isfinite(value) else 1 for value in values]
    return Curve(steps, list(steps), list(values), list(values), list(values), [1] * len(bad), bad)


def test_nan_is_found_where_it_first_was_and_losses_come_first() -> None:
    curves = {
        "charts/SPS": curve([1.0, math.nan]),
        "losses/value_loss": curve([1.0, 2.0, math.inf, math.nan]),
    }
    found = find_nan(curves)
    assert found is not None
    assert found.tag == "losses/value_loss"
    assert "step 300, 2 times" in found.detail


def test_an_explained_variance_without_variance_is_no_fault() -> None:
    assert find_nan({"losses/explained_variance": curve([math.nan])}) is None


def test_entropy_that_fell_to_nothing_is_a_collapse() -> None:
    falling = curve([0.69 * 0.7**index for index in range(40)])
    found = find_collapse(falling)
    assert found is not None
    assert found.kind == "entropy"


@pytest.mark.parametrize(
    "values",
    [
        [0.69] * 40,
        [0.69, 0.001],  # too early to say
        [1.4 - 0.1 * index for index in range(40)],  # a Gaussian's may be negative
        [],
        [math.nan] * 40,
    ],
)
def test_other_entropies_are_none(values: list[float]) -> None:
    assert find_collapse(curve(values)) is None


def test_one_large_kl_is_no_blow_up_and_several_are() -> None:
    assert find_large_kl(curve([0.01, 0.01, 5.0, 0.01, 0.01])) is None
    found = find_large_kl(curve([0.01, 0.5, 0.6, 0.7, 0.8]))
    assert found is not None
    assert "0.6" in found.detail


def test_a_return_that_never_moves_is_frozen() -> None:
    assert find_frozen_return(curve([-200.0] * 400)) is not None


def test_a_return_stuck_below_what_was_reached_is_frozen() -> None:
    assert find_frozen_return(curve([*range(100), *[9.0] * 300])) is not None


@pytest.mark.parametrize(
    ("values", "first_step"),
    [
        ([*map(float, range(100)), *[500.0] * 300], 0),  # solved
        ([500.0] * 400, 10_000),  # a continuation that began solved
        ([-200.0] * 20, 0),  # too few episodes
        ([float(index % 7) for index in range(400)], 0),
        ([], 0),
    ],
)
def test_other_returns_are_not(values: list[float], first_step: int) -> None:
    assert find_frozen_return(curve(values), first_step=first_step) is None


def test_training_that_became_slower_is_found_in_a_mean_since_the_start() -> None:
    # 1,000 steps/s for 60 s, then 100 steps/s: the worker tells the mean since its start.
    steps = [1_000 * (index + 1) for index in range(80)]
    times = [step / 1000 if step <= 60_000 else 60 + (step - 60_000) / 100 for step in steps]
    speeds = curve([step / time_s for step, time_s in zip(steps, times, strict=True)], every=1_000)
    found = find_slowdown(speeds)
    assert found is not None
    assert found.detail.startswith("100 steps/s lately")
    assert find_slowdown(curve([1000.0] * 80, every=1_000)) is None


@pytest.mark.parametrize(("free", "is_found"), [(None, False), (1 << 30, True), (1 << 40, False)])
def test_a_full_disk(free: int | None, is_found: bool) -> None:
    assert (find_full_disk(free) is not None) == is_found


def test_a_run_without_metrics_has_no_findings() -> None:
    assert look({}) == []


def test_the_worst_comes_first() -> None:
    curves = {"losses/approx_kl": curve([1.0] * 30), "losses/policy_loss": curve([math.nan] * 30)}
    assert [each.kind for each in look(curves, disk_free_bytes=0)] == ["nan", "disk", "kl"]
