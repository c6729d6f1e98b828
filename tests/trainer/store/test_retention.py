"""Retention: the file stays within its size, and every curve can still be drawn."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from mosaic.contracts.paths import VarPaths
from mosaic.trainer.store import metrics, retention
from mosaic.trainer.store.metrics import Envelope
from mosaic.trainer.store.store import Store
from tests.trainer.store.content import ENDED, append, insert, make_record, single

POINTS = 30_000


def used(store: Store) -> int:
    return store.telemetry.read(retention.used_bytes).result()


def draw(store: Store, run_id: str, *, points: int = 100) -> Envelope:
    return store.telemetry.read(
        lambda c: metrics.envelope(c, run_id, "loss", max_points=points)
    ).result()


def count_rows(store: Store, table: str) -> int:
    return store.telemetry.read(
        lambda c: c.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
    ).result()


@pytest.fixture
def three_runs(store: Store) -> Store:
    """Two runs that have ended, the second one first, and one that trains."""
    insert(
        store.runs,
        make_record("first", **ENDED, ended_at=200.0),
        make_record("second", **ENDED, ended_at=100.0),
        make_record("training"),
    )
    generator = random.Random(1)
    for run_id in ("first", "second", "training"):
        points = [single("loss", step, generator.random()) for step in range(POINTS)]
        append(store.telemetry, run_id, points)
    return store


def test_the_longest_ended_run_is_trimmed_and_its_curve_stays(three_runs: Store) -> None:
    store, before = three_runs, draw(three_runs, "second")
    limit = used(store) - 100_000
    assert retention.trim(store.telemetry, store.runs, limit) == ["second"]
    assert used(store) <= limit
    assert draw(store, "second") == before
    assert count_rows(store, "points") == 2 * POINTS
    assert draw(store, "second", points=20_000).points_per_bucket == 10, "no finer than this now"
    assert draw(store, "first", points=20_000).points_per_bucket == 2


def test_a_run_that_trains_is_never_trimmed(three_runs: Store) -> None:
    store = three_runs
    assert retention.trim(store.telemetry, store.runs, 0) == ["second", "first"]
    assert count_rows(store, "points") == POINTS
    assert retention.trim(store.telemetry, store.runs, 0) == [], "there is nothing more to take"


def test_what_fits_is_left_alone(three_runs: Store) -> None:
    assert retention.trim(three_runs.telemetry, three_runs.runs, 2**40) == []
    assert count_rows(three_runs, "points") == 3 * POINTS


def test_the_file_itself_shrinks(three_runs: Store, tmp_path: Path) -> None:
    store = three_runs
    bare = Store.open(VarPaths(tmp_path / "bare"))
    bare.close()
    retention.trim(store.telemetry, store.runs, 0)
    store.close()
    content = store.telemetry.path.stat().st_size - bare.telemetry.path.stat().st_size
    assert content < 0.44 * 3 * POINTS * 35


def test_a_removed_run_is_gone_at_once_and_its_rows_soon(three_runs: Store) -> None:
    store = three_runs
    store.telemetry.write(lambda c: metrics.remove(c, "first")).result()
    assert draw(store, "first") == Envelope("loss")
    assert store.telemetry.read(lambda c: metrics.tags(c, "first")).result() == []
    assert store.telemetry.read(lambda c: metrics.offset(c, "first")).result() == 0
    rollups = count_rows(store, "rollups")
    retention.sweep(store.telemetry)
    assert count_rows(store, "points") == 2 * POINTS
    assert count_rows(store, "rollups") * 3 == rollups * 2
    assert draw(store, "second").total_points == POINTS


def test_a_trim_that_was_cut_short_is_finished_by_the_next(three_runs: Store) -> None:
    store = three_runs
    store.telemetry.write(lambda c: retention._mark(c, "second")).result()
    store.telemetry.write(retention._sweep_some).result()
    assert 0 < count_rows(store, "points") - 2 * POINTS < POINTS
    retention.trim(store.telemetry, store.runs, 2**40)
    assert count_rows(store, "points") == 2 * POINTS


def test_points_that_come_after_a_trim_are_drawn(three_runs: Store) -> None:
    store = three_runs
    retention.trim(store.telemetry, store.runs, 0)
    append(store.telemetry, "second", [single("loss", POINTS, 7.0)])
    late = draw(store, "second")
    assert (late.maximum[-1], late.last_value, late.total_points) == (7.0, 7.0, POINTS + 1)
