"""A full disk: the write says so, what was stored stays, and with room again it goes on."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from mosaic.contracts.errors import StorageError
from mosaic.contracts.paths import VarPaths
from mosaic.trainer.store import metrics, runs
from mosaic.trainer.store.store import Store
from tests.trainer.store.content import append, insert, make_record, single

LARGE = {"notes": "x" * 400_000}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of four megabytes."""
    directory = tmp_path / "disk"
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "none", directory]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    yield directory
    subprocess.run(["umount", directory], check=True)


@contextmanager
def disk_filled_by(filler: Path) -> Iterator[None]:
    """Take all the room that is left, and give it back in the end."""
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"\0" * 4096):
            pass
    yield
    filler.unlink()


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    """Refuse to let any file grow beyond this, as a disk or a quota would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def write_runs(store: Store) -> None:
    for number in range(1_000):
        insert(store.runs, make_record(f"more-{number}", config=LARGE))


def write_points(store: Store) -> None:
    for _ in range(1_000):
        append(store.telemetry, "A", [single("t", step, 1.0) for step in range(20_000)])


def fill(store: Store) -> None:
    """Write until each database refuses."""
    with pytest.raises(StorageError, match=r"trainer\.sqlite.* cannot be used: .*disk"):
        write_runs(store)
    with pytest.raises(StorageError, match=r"telemetry\.sqlite.* cannot be used: .*disk"):
        write_points(store)


def check_whole(store: Store) -> None:
    """What was there is there, both go on, and neither file is damaged."""
    assert store.runs.read(lambda c: runs.get(c, "A")).result() == make_record("A")
    rows = store.telemetry.read(lambda c: metrics.tags(c, "A")).result()
    insert(store.runs, make_record("B"))
    append(store.telemetry, "A", [single("t", 1, 2.0)])
    envelope = store.telemetry.read(lambda c: metrics.envelope(c, "A", "t", max_points=1)).result()
    assert envelope.count == [rows[0].count + 1]
    store.close()
    for database in (store.runs, store.telemetry):
        with closing(sqlite3.connect(database.path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@contextmanager
def opened(root: Path) -> Iterator[Store]:
    """A store with one run and one point in it."""
    with closing(Store.open(VarPaths(root / "var"))) as store:
        insert(store.runs, make_record("A"))
        append(store.telemetry, "A", [single("t", 0, 1.0)])
        yield store


def test_a_full_disk(small_disk: Path) -> None:
    with opened(small_disk) as store:
        with disk_filled_by(small_disk / "filler"):
            fill(store)
        check_whole(store)


def test_a_store_is_not_opened_on_a_full_disk_and_is_later(small_disk: Path) -> None:
    with disk_filled_by(small_disk / "filler"), pytest.raises(StorageError):
        Store.open(VarPaths(small_disk / "var"))
    with opened(small_disk) as store:
        check_whole(store)


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        with file_size_limit(1_000_000):
            fill(store)
        check_whole(store)
