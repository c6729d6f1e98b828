"""One writer, many readers: order, savepoints, group commit, snapshots, and refusals on opening."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mosaic.contracts.errors import ConfigError, StorageError
from mosaic.trainer.store.database import Database

FIRST = "CREATE TABLE notes (number INTEGER PRIMARY KEY, text TEXT)"
SECOND = "ALTER TABLE notes ADD COLUMN author TEXT DEFAULT 'nobody'"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "notes.sqlite", [FIRST], synchronous="NORMAL")
    yield database
    database.close()


def add(number: int) -> Callable[[sqlite3.Connection], object]:
    return lambda connection: connection.execute("INSERT INTO notes VALUES (?, 'x')", (number,))


def numbers(connection: sqlite3.Connection) -> list[int]:
    return [number for (number,) in connection.execute("SELECT number FROM notes ORDER BY number")]


def hold(database: Database) -> threading.Event:
    """Keep the writer busy until the event is set, so that what comes meanwhile waits."""
    let_go = threading.Event()
    database.write(lambda _: let_go.wait(10))
    return let_go


def test_a_write_is_there_for_every_reader_once_its_future_is_resolved(database: Database) -> None:
    assert database.write(lambda c: add(7)(c).lastrowid).result() == 7
    assert database.read(numbers).result() == [7]


def test_what_waits_is_committed_together_and_in_order(database: Database) -> None:
    seen: list[str] = []
    database.write(lambda c: c.set_trace_callback(seen.append)).result()
    let_go = hold(database)
    waiting = [database.write(add(number)) for number in range(100)]
    seen.clear()
    let_go.set()
    waiting[-1].result()
    assert seen.count("COMMIT") < 5, "a few even where the machine stalls"
    inserts = [line for line in seen if line.startswith("INSERT")]
    assert inserts == [f"INSERT INTO notes VALUES ({number}, 'x')" for number in range(100)]


def test_a_write_that_fails_is_undone_alone(database: Database) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        add(2)(connection)
        raise ConfigError("no")

    let_go = hold(database)
    before, failed, twice, behind = (
        database.write(work) for work in (add(1), fail, add(1), add(3))
    )
    let_go.set()
    with pytest.raises(ConfigError, match="no"):
        failed.result()
    with pytest.raises(sqlite3.IntegrityError):
        twice.result()
    before.result(), behind.result()
    assert database.read(numbers).result() == [1, 3]


def test_a_write_that_was_cancelled_in_time_does_not_happen(database: Database) -> None:
    let_go = hold(database)
    cancelled, behind = database.write(add(1)), database.write(add(2))
    assert cancelled.cancel()
    let_go.set()
    behind.result()
    assert database.read(numbers).result() == [2]


def test_a_reader_sees_one_state_while_others_write(database: Database) -> None:
    def read_twice(connection: sqlite3.Connection) -> tuple[list[int], list[int]]:
        first = numbers(connection)
        database.write(add(1)).result()
        return first, numbers(connection)

    assert database.read(read_twice).result() == ([], [])
    assert database.read(numbers).result() == [1]


def test_a_reader_cannot_write(database: Database) -> None:
    with pytest.raises(StorageError, match="readonly"):
        database.read(add(1)).result()


def test_closing_finishes_what_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    database = Database(path, [FIRST], synchronous="FULL")
    written = [database.write(add(number)) for number in range(200)]
    database.close()
    database.close()
    assert all(future.done() for future in written)
    with pytest.raises(StorageError, match="is closed"):
        database.write(add(1))
    with pytest.raises(StorageError, match="is closed"):
        database.read(numbers)
    with sqlite3.connect(path) as connection:
        assert numbers(connection) == list(range(200))
    connection.close()
    assert [file.name for file in tmp_path.iterdir()] == [path.name], "no journal is left"


class TestOpening:
    def open(self, path: Path, *migrations: str) -> None:
        Database(path, migrations, synchronous="NORMAL").close()

    def test_the_steps_that_are_missing_are_applied(self, tmp_path: Path) -> None:
        path = tmp_path / "notes.sqlite"
        database = Database(path, [FIRST], synchronous="NORMAL")
        database.write(add(1)).result()
        database.close()
        newer = Database(path, [FIRST, SECOND], synchronous="NORMAL")
        assert newer.read(
            lambda c: c.execute("SELECT number, author FROM notes").fetchall()
        ).result() == [(1, "nobody")]
        newer.close()

    def test_a_step_that_fails_leaves_the_version_before_it(self, tmp_path: Path) -> None:
        path = tmp_path / "notes.sqlite"
        self.open(path, FIRST)
        with pytest.raises(sqlite3.OperationalError):
            self.open(path, FIRST, f"{SECOND}; SELECT nonsense FROM nowhere;")
        self.open(path, FIRST, SECOND)

    def test_a_newer_schema_is_refused_with_one_line(self, tmp_path: Path) -> None:
        path = tmp_path / "notes.sqlite"
        self.open(path, FIRST, SECOND)
        with pytest.raises(
            StorageError, match=r"version 2, .* knows versions up to 1\."
        ) as refused:
            self.open(path, FIRST)
        assert "Use the newer version" in refused.value.one_line()
        self.open(path, FIRST, SECOND)

    def test_a_database_of_another_program_is_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "notes.sqlite"
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE theirs (a)")
        other.close()
        before = path.read_bytes()
        with pytest.raises(StorageError, match="was not written by MOSAIC"):
            self.open(path, FIRST)
        assert path.read_bytes() == before

    @pytest.mark.parametrize("content", [b"no database at all, but a text", b"\0" * 8192])
    def test_a_file_that_is_no_database_is_refused(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "notes.sqlite"
        path.write_bytes(content)
        with pytest.raises(StorageError, match="not a database") as refused:
            self.open(path, FIRST)
        assert "Move the file away" in refused.value.one_line()
        assert path.read_bytes() == content

    def test_a_damaged_file_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "notes.sqlite"
        database = Database(path, [FIRST], synchronous="NORMAL")
        for number in range(2_000):
            written = database.write(add(number))
        written.result()
        database.close()
        content = bytearray(path.read_bytes())
        content[3 * 4096 : 4 * 4096] = b"\xff" * 4096
        path.write_bytes(content)
        with pytest.raises(StorageError, match=r"damaged|malformed"):
            self.open(path, FIRST)

    def test_a_path_that_cannot_be_written_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(StorageError, match="cannot be written"):
            self.open(tmp_path / "file" / "notes.sqlite", FIRST)
        (tmp_path / "folder.sqlite").mkdir()
        with pytest.raises(StorageError, match="unable to open"):
            self.open(tmp_path / "folder.sqlite", FIRST)
