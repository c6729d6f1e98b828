"""Databases of every released schema version open, and hold what they held."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mosaic.contracts.errors import StorageError
from mosaic.contracts.paths import VarPaths
from mosaic.trainer.store import events, metrics, migrations, recordings, runs
from mosaic.trainer.store.recordings import Query
from mosaic.trainer.store.store import Store
from tests.trainer.store.make_assets import ENDED, EVENTS, VALUES, WAITING, asset

RUNS_VERSIONS = range(1, len(migrations.RUNS) + 1)
TELEMETRY_VERSIONS = range(1, len(migrations.TELEMETRY) + 1)


def schema(path: Path) -> dict[str, str]:
    """Return the statement behind each table, index and trigger."""
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT name, sql FROM sqlite_master").fetchall())


def place(paths: VarPaths, database: Path, version: int) -> None:
    database.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(asset(database, version), database)


@pytest.mark.parametrize("version", RUNS_VERSIONS)
def test_runs_and_events_of_a_version_are_read(paths: VarPaths, version: int) -> None:
    place(paths, paths.trainer_database, version)
    store = Store.open(paths)
    assert store.runs.read(lambda c: runs.get(c, ENDED.run_id)).result() == ENDED
    assert store.runs.read(runs.unfinished).result() == [WAITING]
    lines = store.runs.read(lambda c: events.lines(c, ENDED.run_id, 10)).result()
    assert lines == [event.line for event in EVENTS]
    assert store.runs.read(lambda c: events.offset(c, ENDED.run_id)).result() == 40
    store.close()


@pytest.mark.parametrize("version", TELEMETRY_VERSIONS)
def test_metrics_of_a_version_are_read_and_go_on(paths: VarPaths, version: int) -> None:
    place(paths, paths.telemetry_database, version)
    store = Store.open(paths)
    run_id = ENDED.run_id
    whole = store.telemetry.read(
        lambda c: metrics.envelope(c, run_id, "charts/SPS", max_points=5_000)
    ).result()
    assert repr(whole.mean) == repr(VALUES)
    store.telemetry.write(
        lambda c: metrics.append(c, run_id, [("charts/SPS", 1_234, 99.0, 99.0, 99.0, 1)], 9_100)
    ).result()
    one = store.telemetry.read(
        lambda c: metrics.envelope(c, run_id, "charts/SPS", max_points=1)
    ).result()
    assert (one.count, one.nonfinite, one.maximum) == ([1_235], [25], [99.0])
    store.close()


@pytest.mark.parametrize("version", TELEMETRY_VERSIONS[1:])
def test_steps_and_episodes_of_a_version_are_read(paths: VarPaths, version: int) -> None:
    place(paths, paths.telemetry_database, version)
    store = Store.open(paths)
    run_id = ENDED.run_id
    read = store.telemetry.read
    [step] = read(lambda c: recordings.read_steps(c, run_id, Query())).result().lines
    [episode] = read(lambda c: recordings.read_episodes(c, run_id, Query())).result().lines
    store.close()
    assert json.loads(step)["info"] == {"beliefs": ["at(3)"]}
    assert (json.loads(step)["observation"], json.loads(episode)["total_reward"]) == ([1, 2], 0.5)


def test_a_fresh_database_has_the_schema_of_one_that_was_migrated(tmp_path: Path) -> None:
    """So a step that was released is never edited: its change would be in fresh files alone."""
    fresh, migrated = VarPaths(tmp_path / "fresh"), VarPaths(tmp_path / "migrated")
    place(migrated, migrated.trainer_database, 1)
    place(migrated, migrated.telemetry_database, 1)
    for paths in (fresh, migrated):
        Store.open(paths).close()
    assert schema(fresh.trainer_database) == schema(migrated.trainer_database)
    assert schema(fresh.telemetry_database) == schema(migrated.telemetry_database)


@pytest.mark.parametrize("name", ["trainer_database", "telemetry_database"])
def test_a_database_of_a_later_version_is_refused_and_left_alone(
    paths: VarPaths, name: str
) -> None:
    Store.open(paths).close()
    path: Path = getattr(paths, name)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(StorageError, match=f"{path.name}.* has schema version 99"):
        Store.open(paths)
    assert path.read_bytes() == before
