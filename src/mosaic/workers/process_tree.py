"""Every process of a run: found whatever it did to hide, signalled without hitting a stranger."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from mosaic.workers.process_table import Row, read_environment, read_row, read_table

RUN_ID_VARIABLE = "MOSAIC_RUN_ID"

_FIRST_PAUSE_S = 0.002
_LONGEST_PAUSE_S = 0.1
# The table is not read in one instant: a process that forks and dies meanwhile can be in neither
# place. Its child is in the next reading.
_EMPTY_READINGS = 2


class ProcessIdentity(NamedTuple):
    """A process by its pid and its start, so that a reused pid is not mistaken for it."""

    pid: int
    start_ticks: int

    def is_alive(self) -> bool:
        """Say whether it runs; one that ended and was not waited for does not."""
        row = self._row()
        return row is not None and row.is_alive

    def is_stopped(self) -> bool:
        row = self._row()
        return row is not None and row.is_stopped

    def send(self, number: signal.Signals) -> bool:
        """Send a signal; False where the process is gone, or somebody else's."""
        try:
            if not hasattr(os, "pidfd_open"):
                return self.is_alive() and _kill(self.pid, number)
            # The descriptor holds on to the process: what is checked is what is signalled.
            descriptor = os.pidfd_open(self.pid)
        except OSError:
            return False
        try:
            if not self.is_alive():
                return False
            signal.pidfd_send_signal(descriptor, number)
            return True
        except OSError:
            return False
        finally:
            os.close(descriptor)

    def _row(self) -> Row | None:
        row = read_row(self.pid)
        return row if row is not None and row.start_ticks == self.start_ticks else None


def identify(pid: int) -> ProcessIdentity | None:
    """Return the identity of the process that has this pid now."""
    row = read_row(pid)
    return None if row is None else ProcessIdentity(pid, row.start_ticks)


def find_run_processes(
    run_id: str,
    worker: ProcessIdentity | None,
    *,
    exclude: Iterable[int] = (),
    reapers: Iterable[int] = (),
) -> list[ProcessIdentity]:
    """Return every living process of the run, oldest first; never the caller, nor the excluded.

    Those are: the worker, its session and its group, each process of this user that carries the
    run's id in its environment, and whatever descends from one of them or from a `reaper`: the
    proxy, to which orphans of the run fall.
    """
    table = read_table()
    barred = {os.getpid(), *exclude}
    parents = set(reapers)
    candidates = [row for row in table.values() if row.pid not in barred and row.pid not in parents]
    members = {row.pid for row in candidates if _is_of_worker(row, worker, table)}
    members |= {
        row.pid
        for row in candidates
        if row.pid not in members and read_environment(row.pid).get(RUN_ID_VARIABLE) == run_id
    }
    members = _with_descendants(members, parents, candidates)
    alive = [table[pid] for pid in members if table[pid].is_alive and _may_signal(pid)]
    return [
        ProcessIdentity(row.pid, row.start_ticks)
        for row in sorted(alive, key=lambda row: (row.start_ticks, row.pid))
    ]


def kill_all(find: Callable[[], list[ProcessIdentity]], *, timeout_s: float) -> int:
    """Kill what `find` returns until it returns nothing; return how many were killed.

    After the timeout it gives up: a process that hangs in the kernel dies when that lets it go.
    """
    killed: set[ProcessIdentity] = set()
    deadline = time.monotonic() + timeout_s
    pause_s, empty_readings = _FIRST_PAUSE_S, 0
    while empty_readings < _EMPTY_READINGS and time.monotonic() < deadline:
        found = find()
        empty_readings = 0 if found else empty_readings + 1
        killed.update(process for process in found if process.send(signal.SIGKILL))
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S) if found else _FIRST_PAUSE_S
    return len(killed)


def stop_all(find: Callable[[], list[ProcessIdentity]], *, timeout_s: float) -> bool:
    """Stop what `find` returns, and what that started meanwhile; False after the timeout."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        running = [process for process in find() if not process.is_stopped()]
        if not running:
            return True
        for process in running:
            process.send(signal.SIGSTOP)
        time.sleep(_FIRST_PAUSE_S)
    return False


def _is_of_worker(row: Row, worker: ProcessIdentity | None, table: Mapping[int, Row]) -> bool:
    if worker is None:
        return False
    leader = table.get(worker.pid)
    if leader is not None and leader.start_ticks != worker.start_ticks:
        return False  # its pid, and thus its session's number, is somebody else's by now
    return worker.pid in (row.pid, row.session, row.group)


def _with_descendants(members: set[int], parents: set[int], candidates: Iterable[Row]) -> set[int]:
    children: dict[int, list[int]] = {}
    for row in candidates:
        children.setdefault(row.parent, []).append(row.pid)
    found = set(members)
    pending = [*members, *parents]
    while pending:
        new = [pid for pid in children.get(pending.pop(), ()) if pid not in found]
        found.update(new)
        pending.extend(new)
    return found


def _may_signal(pid: int) -> bool:
    """Say whether a process is ours to end: a descendant may have become another user's."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _kill(pid: int, number: signal.Signals) -> bool:
    os.kill(pid, number)
    return True
