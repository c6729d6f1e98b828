"""One SQLite file: a single thread writes it, a few threads read it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from mosaic.contracts.errors import StorageError
from mosaic.trainer.store.opening import as_storage_error, open_reader, open_writer
from mosaic.trainer.store.writer import Writer

T = TypeVar("T")

READERS = 3


class Database:
    """A SQLite file in WAL mode.

    `write` and `read` may be called from any thread, and answer with a future. Writes happen in
    the order of the calls, each in a savepoint of its own: one that raises leaves nothing behind
    and does not touch its neighbours. What waits is committed together, since a sync costs more
    than the rows; a write's future is resolved after that commit. A read sees one committed state
    throughout. The functions given must be short: they hold up everybody behind them.
    """

    def __init__(self, path: Path, migrations: Sequence[str], *, synchronous: str) -> None:
        self.path = path
        self._connection = open_writer(path, migrations, synchronous=synchronous)
        self._writer = Writer(self._connection, path)
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix=f"{path.stem}-reader")
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._closing = threading.Lock()
        self._is_closed = False

    def write(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        with self._closing:
            self._refuse_closed()
            return self._writer.submit(work)

    def read(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        with self._closing:
            self._refuse_closed()
            return self._pool.submit(self._read, work)

    def close(self) -> None:
        """Finish what was asked for, and close the file."""
        with self._closing:
            if self._is_closed:
                return
            self._is_closed = True
        self._writer.finish()
        self._pool.shutdown()
        for connection in [*self._readers, self._connection]:
            connection.close()

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise StorageError(f"The database {str(self.path)!r} is closed.")

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            connection = self._reader()
            connection.execute("BEGIN")
            try:
                return work(connection)
            finally:
                connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise as_storage_error(error, self.path) from error

    def _reader(self) -> sqlite3.Connection:
        """Return this thread's own connection."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = open_reader(self.path)
            self._readers.append(connection)
        return connection
