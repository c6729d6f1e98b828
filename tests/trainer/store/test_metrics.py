"""Metric series: rollups agree with brute force, and an envelope hides no extreme."""

from __future__ import annotations

import itertools
import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

import pytest

from mosaic.contracts.errors import ConfigError
from mosaic.trainer.store import metrics
from mosaic.trainer.store.metrics import Envelope, Point, TagSummary
from mosaic.trainer.store.store import Store
from tests.trainer.store.content import append, single

RUN = "01JRUN"


def read_envelope(store: Store, tag: str, **window: Any) -> Envelope:
    return store.telemetry.read(lambda c: metrics.envelope(c, RUN, tag, **window)).result()


def read_rollups(store: Store, tag: str) -> dict[tuple[int, int], tuple[Any, ...]]:
    rows = store.telemetry.read(
        lambda c: c.execute(
            "SELECT level, bucket, rollups.first_step, rollups.last_step, minimum, maximum, total,"
            " weight, samples FROM rollups JOIN series USING (series_id) WHERE tag = ?",
            (tag,),
        ).fetchall()
    ).result()
    return {(level, bucket): tuple(columns) for level, bucket, *columns in rows}


def brute_force(points: Sequence[Point]) -> tuple[Any, ...]:
    """Return what a bucket over these points must hold."""
    finite = [point for point in points if math.isfinite(point[2])]
    lows = [point[3] for point in points if math.isfinite(point[3])]
    highs = [point[4] for point in points if math.isfinite(point[4])]
    steps = [point[1] for point in points]
    return (
        min(steps),
        max(steps),
        min(lows, default=None),
        max(highs, default=None),
        pytest.approx(math.fsum(point[2] * point[5] for point in finite), rel=1e-9, abs=1e-6),
        sum(point[5] for point in finite),
        sum(point[5] for point in points),
    )


def random_point(generator: random.Random, tag: str) -> Point:
    """Return a point at any step: alone or merged, and one in five NaN or infinite."""
    step = generator.randrange(-50, 5_000)
    value = generator.gauss(0, 100)
    kind = generator.random()
    if kind < 0.2:
        return single(tag, step, generator.choice([math.nan, math.inf, -math.inf]))
    if kind < 0.3:
        return (tag, step, value, value - 1, value + 2, generator.randrange(2, 50))
    if kind < 0.33:  # one NaN among what was merged: its mean is NaN, its bounds are known
        return (tag, step, math.nan, value - 1, value + 2, 7)
    return single(tag, step, value)


def append_in_batches(store: Store, points: list[Point], generator: random.Random) -> None:
    rest = iter(points)
    while batch := list(itertools.islice(rest, generator.choice([1, 2, 7, 100, 700]))):
        append(store.telemetry, RUN, batch)


@pytest.mark.parametrize("seed", range(3))
def test_rollups_agree_with_brute_force_at_every_level(store: Store, seed: int) -> None:
    generator = random.Random(seed)
    points = [random_point(generator, generator.choice("aab")) for _ in range(3_000)]
    append_in_batches(store, points, generator)
    for tag in "ab":
        series = [point for point in points if point[0] == tag]
        expected = {
            (level, start // 10**level): brute_force(series[start : start + 10**level])
            for level in range(1, 9)
            for start in range(0, len(series), 10**level)
        }
        assert read_rollups(store, tag) == expected


def test_the_envelope_of_a_growing_step_is_exact_in_every_window(store: Store) -> None:
    generator = random.Random(7)
    steps = sorted(generator.sample(range(100_000), 12_345))
    points = [
        (*random_point(generator, "t")[:1], step, *random_point(generator, "t")[2:])
        for step in steps
    ]
    append_in_batches(store, points, generator)
    for _ in range(60):
        first, last = sorted(generator.sample(range(-10, 100_010), 2))
        limit = generator.choice([1, 2, 9, 10, 33, 100, 999])
        envelope = read_envelope(store, "t", from_step=first, to_step=last, max_points=limit)
        assert len(envelope.mean) <= limit
        covered: list[int] = []
        for index, (start, end) in enumerate(
            zip(envelope.first_step, envelope.last_step, strict=True)
        ):
            inside = points[bisect_left(steps, start) : bisect_right(steps, end)]
            covered += [point[1] for point in inside]
            if envelope.points_per_bucket > 1:
                check_bucket(envelope, index, inside)
        assert [step for step in covered if first <= step <= last] == [
            step for step in steps if first <= step <= last
        ]


def check_bucket(envelope: Envelope, index: int, inside: list[Point]) -> None:
    start, end, low, high, total, weight, samples = brute_force(inside)
    assert (envelope.first_step[index], envelope.last_step[index]) == (start, end)
    assert envelope.count[index] == samples
    assert envelope.nonfinite[index] == samples - weight
    for found, expected in ((envelope.minimum, low), (envelope.maximum, high)):
        assert math.isnan(found[index]) if expected is None else found[index] == expected
    if weight:
        assert envelope.mean[index] * weight == total
        assert low <= envelope.mean[index] <= high
    else:
        assert math.isnan(envelope.mean[index])


def test_steps_that_jump_back_lose_nothing(store: Store) -> None:
    generator = random.Random(11)
    points = [single("t", generator.randrange(10_000), generator.random()) for _ in range(5_000)]
    append_in_batches(store, points, generator)
    for _ in range(30):
        first, last = sorted(generator.sample(range(10_000), 2))
        limit = generator.choice([3, 50, 400])
        envelope = read_envelope(store, "t", from_step=first, to_step=last, max_points=limit)
        assert len(envelope.mean) <= limit
        buckets = list(
            zip(
                envelope.first_step,
                envelope.last_step,
                envelope.minimum,
                envelope.maximum,
                strict=True,
            )
        )
        for _, step, value, *_ in points:
            if first <= step <= last:
                assert any(a <= step <= b and low <= value <= high for a, b, low, high in buckets)


def test_few_points_come_back_as_they_went_in(store: Store) -> None:
    values = [1.5, math.nan, math.inf, -math.inf, 0.1 + 0.2, -5e-324, 1.7976931348623157e308]
    append(store.telemetry, RUN, [single("t", step, value) for step, value in enumerate(values)])
    append(store.telemetry, RUN, [("t", 100, 2.0, 1.0, 4.0, 3)])
    envelope = read_envelope(store, "t")
    assert envelope.points_per_bucket == 1
    assert envelope.total_points == 8
    assert envelope.first_step == envelope.last_step == [*range(7), 100]
    assert repr(envelope.mean) == repr([*values, 2.0])
    assert repr(envelope.minimum) == repr([*values, 1.0])
    assert repr(envelope.maximum) == repr([*values, 4.0])
    assert envelope.count == [1] * 7 + [3]
    assert envelope.nonfinite == [0, 1, 1, 1, 0, 0, 0, 0]
    assert (envelope.last_value, envelope.last_step_seen) == (2.0, 100)


def test_values_may_come_as_the_worker_wrote_them(store: Store) -> None:
    lines = [
        ("t", 1, "nan", "nan", "nan", 1),
        ("t", 2, "-inf", "-inf", "-inf", 1),
        ("t", 3, 4, 4, 4, 1),
    ]
    append(store.telemetry, RUN, lines)
    assert repr(read_envelope(store, "t").mean) == "[nan, -inf, 4.0]"


def test_a_sum_that_overflows_stays_inside_its_bounds(store: Store) -> None:
    append(store.telemetry, RUN, [single("t", step, 1.7e308) for step in range(40)])
    envelope = read_envelope(store, "t", max_points=4)
    assert envelope.mean == envelope.maximum == [1.7e308] * 4


def test_a_window_without_points_and_a_tag_without_points_are_empty(store: Store) -> None:
    append(store.telemetry, RUN, [single("t", 5, 1.0)])
    outside = read_envelope(store, "t", from_step=6, to_step=9)
    assert (outside.first_step, outside.total_points, outside.last_value) == ([], 1, 1.0)
    assert read_envelope(store, "t", from_step=9, to_step=6).first_step == []
    assert read_envelope(store, "other") == Envelope("other")


@pytest.mark.parametrize("max_points", [-1, 20_001])
def test_a_request_out_of_range_is_refused(store: Store, max_points: int) -> None:
    with pytest.raises(ConfigError, match=f"max_points={max_points} is not allowed: give 1 to"):
        read_envelope(store, "t", max_points=max_points)


def test_tags_tell_how_many_and_the_last(store: Store) -> None:
    append(store.telemetry, RUN, [single("b", 3, 1.0), single("a", 1, 2.0), single("b", 2, 9.0)])
    append(store.telemetry, "other", [single("c", 1, 1.0)])
    assert store.telemetry.read(lambda c: metrics.tags(c, RUN)).result() == [
        TagSummary("a", 1, 1, 2.0),
        TagSummary("b", 2, 2, 9.0),
    ]


def test_a_batch_that_comes_again_is_stored_once(store: Store) -> None:
    points = [single("t", step, 1.0) for step in range(5)]
    append(store.telemetry, RUN, points, next_offset=500)
    append(store.telemetry, RUN, points, next_offset=500)
    append(store.telemetry, RUN, points[:2], next_offset=200)
    append(store.telemetry, RUN, [], next_offset=620)
    assert store.telemetry.read(lambda c: metrics.offset(c, RUN)).result() == 620
    assert read_envelope(store, "t").count == [1] * 5


def test_a_point_that_is_no_number_stores_nothing_of_its_batch(store: Store) -> None:
    with pytest.raises(ValueError, match="could not convert"):
        append(store.telemetry, RUN, [single("t", 1, 1.0), ("t", 2, "many", 0, 0, 1)])
    assert read_envelope(store, "t") == Envelope("t")
    assert store.telemetry.read(lambda c: metrics.offset(c, RUN)).result() == 0
    append(store.telemetry, RUN, [single("t", 1, 1.0)])
    assert read_rollups(store, "t")[1, 0][-1] == 1


def test_a_tag_that_utf_8_cannot_spell_is_stored_all_the_same(store: Store) -> None:
    for step in range(3):
        append(store.telemetry, RUN, [single("bad \ud800", step, 1.0), single("β", step, 1.0)])
    tags = store.telemetry.read(lambda c: metrics.tags(c, RUN)).result()
    assert [(tag.tag, tag.count) for tag in tags] == [("bad ?", 3), ("β", 3)]
