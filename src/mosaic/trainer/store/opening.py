"""Open a database file: checked, migrated, and set up for one writer and many readers."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from mosaic.contracts.errors import StorageError
from mosaic.contracts.files import make_directory

# The check reads the whole file: larger ones are left to SQLite, which repairs what a crash left.
CHECK_LIMIT_BYTES = 128 * 2**20
WAL_LIMIT_BYTES = 64 * 2**20
BUSY_TIMEOUT_S = 10.0
# In KiB where negative. Twice the size was not faster, and the daemon is to stay small.
WRITER_CACHE = -4096
READER_CACHE = -1024

_STORAGE_CODES = {
    sqlite3.SQLITE_FULL: "Free disk space.",
    sqlite3.SQLITE_IOERR: "Look at the disk and its free space.",
    sqlite3.SQLITE_READONLY: "Make the file writable for this user.",
    sqlite3.SQLITE_CANTOPEN: "Look at the directory and its permissions.",
    sqlite3.SQLITE_BUSY: "Another program holds the file: close it.",
    sqlite3.SQLITE_CORRUPT: "Move the file away or restore a copy: the runs' files are untouched.",
    sqlite3.SQLITE_NOTADB: "Move the file away or restore a copy: the runs' files are untouched.",
}


def as_storage_error(error: sqlite3.Error, path: Path) -> Exception:
    """Return what the disk or the file is to blame for as a StorageError, the rest as it is."""
    code = getattr(error, "sqlite_errorcode", None)
    hint = None if code is None else _STORAGE_CODES.get(code & 0xFF)
    if hint is None:
        return error
    return StorageError(f"The database {str(path)!r} cannot be used: {error}.", hint=hint)


def open_writer(path: Path, migrations: Sequence[str], *, synchronous: str) -> sqlite3.Connection:
    make_directory(path.parent, what="The directory of the database")
    try:
        connection = _connect(path, "rwc")
        try:
            _prepare(connection, path, migrations, synchronous)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise as_storage_error(error, path) from error
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    connection = _connect(path, "ro")
    connection.execute(f"PRAGMA cache_size = {READER_CACHE}")
    return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,  # transactions begin and end where we say so
        check_same_thread=False,  # opened and closed by one thread, used by another in between
    )


def _prepare(
    connection: sqlite3.Connection, path: Path, migrations: Sequence[str], synchronous: str
) -> None:
    _refuse_foreign(connection, path, len(migrations))
    _check(connection, path)
    # Only a file without tables takes this; it lets retention give pages back.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StorageError(
            f"The file system of {str(path)!r} has no shared memory, which SQLite's WAL needs.",
            hint="Set MOSAIC_VAR_DIR to a directory on a local disk.",
        )
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT_BYTES}")
    connection.execute(f"PRAGMA cache_size = {WRITER_CACHE}")
    connection.execute("PRAGMA temp_store = MEMORY")
    # Some builds overwrite what is deleted with zeros, which doubles the cost of retention.
    connection.execute("PRAGMA secure_delete = OFF")
    _migrate(connection, migrations)


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _refuse_foreign(connection: sqlite3.Connection, path: Path, known: int) -> None:
    version = _version(connection)
    if version > known:
        raise StorageError(
            f"The database {str(path)!r} has schema version {version}, and this program knows "
            f"versions up to {known}.",
            hint="Use the newer version of MOSAIC that wrote it, or another MOSAIC_VAR_DIR.",
        )
    (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    if version == 0 and tables:
        raise StorageError(
            f"The database {str(path)!r} was not written by MOSAIC.", hint="Move it away."
        )


def _check(connection: sqlite3.Connection, path: Path) -> None:
    if path.stat().st_size > CHECK_LIMIT_BYTES:
        return
    (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if answer != "ok":
        raise StorageError(
            f"The database {str(path)!r} is damaged: {answer}.",
            hint=_STORAGE_CODES[sqlite3.SQLITE_CORRUPT],
        )


def _migrate(connection: sqlite3.Connection, migrations: Sequence[str]) -> None:
    """Apply the steps that are missing; each is applied with its number, or not at all."""
    for number in range(_version(connection) + 1, len(migrations) + 1):
        script = f"BEGIN IMMEDIATE;{migrations[number - 1]};PRAGMA user_version={number};COMMIT;"
        try:
            connection.executescript(script)
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
