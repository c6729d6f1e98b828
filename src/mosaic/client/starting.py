"""Starting and stopping the daemon, as a process that outlives whoever asked for it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from mosaic.client.locating import Address, find_daemon, forced_target, has_daemon, read_info
from mosaic.contracts.errors import DaemonUnreachable
from mosaic.contracts.files import make_directory
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.secrets import is_secret

MODULE = "mosaic.trainer"

# A daemon looks after every run that it finds before its port opens.
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
_POLL_S = 0.02


def ensure_daemon(paths: VarPaths, *, start: bool = True) -> Address:
    """Return the address of the daemon, after starting one where there is none."""
    found = find_daemon(paths)
    if found is not None:
        return found
    if not start:
        if not has_daemon(paths):
            raise no_daemon(paths)
        return _wait_for_address(paths, None)
    make_directory(paths.trainer, what="The data directory")
    with _held(paths.trainer):
        # Somebody else may have started it meanwhile.
        spawned = None if has_daemon(paths) else _Spawned(paths)
        return _wait_for_address(paths, spawned)


@contextlib.contextmanager
def _held(directory: Path) -> Iterator[None]:
    """Hold the directory, so that of several who need a daemon one starts it."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def no_daemon(paths: VarPaths) -> DaemonUnreachable:
    return DaemonUnreachable(
        f"No trainer daemon runs for {paths.root}.", hint="'mosaic daemon start' starts one."
    )


def no_answer(target: str) -> DaemonUnreachable:
    return DaemonUnreachable(
        f"The trainer daemon at {target} does not answer.",
        hint="'mosaic daemon status' says whether one runs.",
    )


def daemon_command() -> list[str]:
    # -P: a file in the working directory must not stand in for a module of the daemon.
    return [sys.executable, "-P", "-m", MODULE]


def daemon_environment(paths: VarPaths) -> dict[str, str]:
    """Return this environment without its secrets, which belong to runs and not to the daemon."""
    # A daemon that was started from within a run is no process of that run.
    left_out = {"MOSAIC_RUN_ID"} | {name for name in os.environ if is_secret(name)}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return kept | {"MOSAIC_VAR_DIR": str(paths.root)}


def stop_daemon(paths: VarPaths) -> int | None:
    """Ask the daemon to end and wait until it is gone; return its pid, None where there is none."""
    if forced_target() is not None or not has_daemon(paths):
        return None
    info = read_info(paths)
    if info is None:
        raise DaemonUnreachable(
            f"The daemon of {paths.root} is still starting: its {paths.daemon_info.name} is not "
            "written.",
            hint="Try again in a moment.",
        )
    with contextlib.suppress(ProcessLookupError):
        os.kill(info.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while has_daemon(paths):
        if time.monotonic() > deadline:
            raise DaemonUnreachable(
                f"The daemon (pid {info.pid}) has not ended within {STOP_TIMEOUT_S:.0f} s.",
                hint=f"See {paths.daemon_log}.",
            )
        time.sleep(_POLL_S)
    return info.pid


class _Spawned:
    """A daemon that was just started. What it says before it has a log lies in its output."""

    def __init__(self, paths: VarPaths) -> None:
        make_directory(paths.logs, what="The data directory")
        self._output = paths.daemon_output
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                daemon_command(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=daemon_environment(paths),
                cwd=paths.root,
                start_new_session=True,
            )
        # Reaped when it ends, since whoever started it may live longer (the GUI does).
        threading.Thread(target=self._process.wait, daemon=True).start()

    @property
    def has_ended(self) -> bool:
        return self._process.returncode is not None

    def last_words(self) -> str:
        text = self._output.read_text(encoding="utf-8", errors="replace")
        told = [line.strip() for line in text.splitlines() if line.strip()]
        words = told[-1] if told else f"exit code {self._process.returncode}."
        return words.removeprefix("mosaic daemon: ")


def _wait_for_address(paths: VarPaths, spawned: _Spawned | None) -> Address:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        address = find_daemon(paths)
        if address is not None:
            return address
        if not has_daemon(paths) and (spawned is None or spawned.has_ended):
            raise _failed_start(paths, spawned)
        time.sleep(_POLL_S)
    raise DaemonUnreachable(
        f"The trainer daemon was not ready within {START_TIMEOUT_S:.0f} s.",
        hint=f"See {paths.daemon_log}.",
    )


def _failed_start(paths: VarPaths, spawned: _Spawned | None) -> DaemonUnreachable:
    if spawned is None:
        return DaemonUnreachable(
            "The trainer daemon ended while it started.", hint=f"See {paths.daemon_log}."
        )
    return DaemonUnreachable(
        f"The trainer daemon did not start: {spawned.last_words()}",
        hint=f"({paths.daemon_output} has all that it said.)",
    )
