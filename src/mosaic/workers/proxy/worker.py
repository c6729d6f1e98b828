"""The worker process, as its proxy sees it: a child of its own, or one found running."""

from __future__ import annotations

import os
import signal
import sys

from mosaic.contracts.paths import VarPaths
from mosaic.workers.daemon_address import TARGET_VARIABLE, find_target
from mosaic.workers.process_table import read_environment
from mosaic.workers.process_tree import (
    RUN_ID_VARIABLE,
    ProcessIdentity,
    find_run_processes,
    identify,
)
from mosaic.workers.proxy.launch import Launch

# Python ignores these, and what a process ignores its children ignore too.
_RESET = (signal.SIGPIPE, signal.SIGXFSZ)
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


class Worker:
    """A worker that this proxy started, or one that it found: then nobody tells its exit code."""

    def __init__(
        self, run_id: str, identity: ProcessIdentity | None, *, is_child: bool = False
    ) -> None:
        self.identity = identity
        self._run_id = run_id
        self._is_child = is_child
        self._status: int | None = None  # of waitpid
        # A proxy that is started again may not be given the secrets once more.
        inherited = {} if identity is None or is_child else read_environment(identity.pid)
        self.environment = {**os.environ, **inherited}

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while it runs, or if nobody saw the end."""
        return None if self._status is None else os.waitstatus_to_exitcode(self._status)

    def has_ended(self) -> bool:
        """Say whether the worker is gone; waits for each child that has ended, orphans included."""
        while (ended := _wait_for_any()) is not None:
            pid, status = ended
            if self._is_child and self.identity is not None and pid == self.identity.pid:
                self._status = status
        if self._is_child:
            return self._status is not None
        return self.identity is None or not self.identity.is_alive()

    def is_stopped(self) -> bool:
        return self.identity is not None and self.identity.is_stopped()

    def processes(self) -> list[ProcessIdentity]:
        """Return every living process of the run."""
        return find_run_processes(self._run_id, self.identity, reapers=(os.getpid(),))

    def send(self, number: signal.Signals) -> None:
        """Signal the worker alone: it tells its algorithm."""
        if self.identity is not None:
            self.identity.send(number)


def start_worker(launch: Launch) -> Worker:
    """Start the worker in a session of its own, its stdout the spool; an OSError says why not."""
    launch.events.parent.mkdir(parents=True, exist_ok=True)
    pid = os.posix_spawnp(
        launch.command[0],
        launch.command,
        _environment(launch),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(launch.events), _APPEND, 0o644),
            (os.POSIX_SPAWN_OPEN, 2, str(launch.paths.worker_stderr), _APPEND, 0o644),
        ],
        setsid=True,
        setsigdef=_RESET,
    )
    identity = identify(pid)
    assert identity is not None, "a child that nobody has waited for is in the table"
    return Worker(launch.run_id, identity, is_child=True)


def adopt_orphans() -> None:
    """Make descendants whose parent ends children of this process, instead of init's."""
    if sys.platform == "linux":
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def _environment(launch: Launch) -> dict[str, str]:
    return {
        **os.environ,
        TARGET_VARIABLE: find_target(VarPaths(launch.var_dir)),
        **launch.environment,
        RUN_ID_VARIABLE: launch.run_id,
        "MOSAIC_VAR_DIR": str(launch.var_dir),
    }


def _wait_for_any() -> tuple[int, int] | None:
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, status) if pid else None
