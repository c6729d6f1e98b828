"""The process table, read once: who is whose child, in which session, and since when."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

_DEAD = frozenset("ZXx")
_STOPPED = frozenset("Tt")


class Row(NamedTuple):
    """A process as the kernel knows it. `start_ticks` tells it from a later one with its pid."""

    pid: int
    parent: int
    group: int
    session: int
    start_ticks: int
    state: str
    threads: int

    @property
    def is_alive(self) -> bool:
        # The first thread of a process may be gone before the others: then it only looks dead.
        return self.state not in _DEAD or self.threads > 1

    @property
    def is_stopped(self) -> bool:
        return self.state in _STOPPED


def read_row(pid: int) -> Row | None:
    """Return what is known of a process; None where there is none."""
    return _read_proc(pid) if sys.platform == "linux" else _ask_psutil(pid)


def read_table() -> dict[int, Row]:
    """Return every process by its pid; those that come or go meanwhile may be missing."""
    rows = (read_row(pid) for pid in _pids())
    return {row.pid: row for row in rows if row is not None}


def read_environment(pid: int) -> dict[str, str]:
    """Return the variables that a process of this user was started with; none of another's."""
    if sys.platform != "linux":
        return _environment_by_psutil(pid)
    try:
        # As root one may read everybody's.
        if os.stat(f"/proc/{pid}").st_uid != os.getuid():
            return {}
        with open(f"/proc/{pid}/environ", "rb") as file:
            text = file.read()
    except OSError:
        return {}
    pairs = (os.fsdecode(entry).partition("=") for entry in text.split(b"\0"))
    return {name: value for name, _, value in pairs}


def _read_proc(pid: int) -> Row | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the program's name in parentheses, and may hold anything.
    fields = text[text.rindex(b")") + 2 :].split()
    return Row(
        pid=pid,
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        start_ticks=int(fields[19]),
        state=fields[0].decode(),
        threads=int(fields[17]),
    )


def _pids() -> list[int]:
    if sys.platform == "linux":
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    else:
        import psutil

        return psutil.pids()


def _ask_psutil(pid: int) -> Row | None:
    import psutil

    letters = {psutil.STATUS_ZOMBIE: "Z", psutil.STATUS_DEAD: "X", psutil.STATUS_STOPPED: "T"}
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            return Row(
                pid=pid,
                parent=process.ppid(),
                group=os.getpgid(pid),
                session=os.getsid(pid),
                start_ticks=int(process.create_time() * 100),
                state=letters.get(process.status(), "R"),
                threads=1,
            )
    except (psutil.Error, OSError):
        return None


def _environment_by_psutil(pid: int) -> dict[str, str]:
    import psutil

    try:
        return psutil.Process(pid).environ()
    except (psutil.Error, OSError):
        return {}
