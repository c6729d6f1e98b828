"""The thread that writes a database: what waits is committed together."""

from __future__ import annotations

import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from mosaic.trainer.store.opening import as_storage_error

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

# A group takes in what is waiting until it is this old: the first of it waits for the commit.
GROUP_S = 0.05


@dataclass(slots=True)
class _Operation(Generic[T]):
    work: Work[T]
    future: Future[T] = field(default_factory=Future)
    result: T | None = None


class Writer:
    """Runs operations in their order, each in a savepoint, groups of them in a transaction.

    An operation that raises is undone alone. Where the disk undoes the whole transaction, every
    operation of the group fails, and none of them has happened.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._waiting: queue.SimpleQueue[_Operation[Any] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"{path.stem}-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work[T]) -> Future[T]:
        operation = _Operation(work)
        self._waiting.put(operation)
        return operation.future

    def finish(self) -> None:
        """Write what was submitted, and end the thread. Nothing may be submitted after it."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (first := self._waiting.get()) is not None:
            self._write_group(first)

    def _write_group(self, first: _Operation[Any]) -> None:
        group = [first]
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._attempt(first)
            for operation in self._gather():
                group.append(operation)
                self._attempt(operation)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._undo()
            for operation in _open(group):
                operation.future.set_exception(as_storage_error(error, self._path))
        else:
            for operation in _open(group):
                operation.future.set_result(operation.result)

    def _undo(self) -> None:
        # A disk that fails here as well is named by the next BEGIN.
        with contextlib.suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _gather(self) -> Iterator[_Operation[Any]]:
        age_limit = time.monotonic() + GROUP_S
        while time.monotonic() < age_limit:
            try:
                operation = self._waiting.get_nowait()
            except queue.Empty:
                return
            if operation is None:
                self._waiting.put(None)  # the end is for the loop around this group
                return
            yield operation

    def _attempt(self, operation: _Operation[Any]) -> None:
        """Run one operation; it is undone if it raises. Raises where the transaction is lost."""
        if not operation.future.set_running_or_notify_cancel():
            return
        self._connection.execute("SAVEPOINT operation")
        try:
            operation.result = operation.work(self._connection)
            self._connection.execute("RELEASE operation")
        except Exception as error:  # the caller's, who gets it through the future
            if not self._connection.in_transaction:
                raise _lost(error) from error
            self._connection.execute("ROLLBACK TO operation")
            self._connection.execute("RELEASE operation")
            if isinstance(error, sqlite3.Error):
                error = as_storage_error(error, self._path)
            operation.future.set_exception(error)


def _lost(error: Exception) -> sqlite3.Error:
    if isinstance(error, sqlite3.Error):
        return error
    return sqlite3.OperationalError(f"the transaction was lost: {error}")


def _open(group: list[_Operation[Any]]) -> Iterator[_Operation[Any]]:
    return (operation for operation in group if not operation.future.done())
