"""The lives of processes: dying with a parent, and what an exit means."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from mosaic.contracts.errors import EXIT_CONFIG, EXIT_DAEMON, EXIT_FAILED

# Set by a worker for the process it starts. A getppid() of 1 does not prove an orphan, since the
# proxy is a subreaper: the child must know whose child it was.
PARENT_PID_VARIABLE = "MOSAIC_PARENT_PID"

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_POLL_INTERVAL_S = 1.0


def die_with_parent() -> None:
    """Tie this process to the worker that started it, kill -9 of the worker included.

    A process that no worker started is left alone. On Linux the kernel does it, when the *thread*
    that started this process ends: workers start theirs from the main thread.
    """
    text = os.environ.pop(PARENT_PID_VARIABLE, None)
    if text is None:
        return
    parent = int(text)
    if sys.platform == "linux":
        import ctypes  # here, since a worker never gets here

        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
        # The parent may have died before the call above, which then waits for a death that was.
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
    else:
        threading.Thread(target=_watch_parent, args=(parent,), daemon=True).start()


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_POLL_INTERVAL_S)
    os.kill(os.getpid(), signal.SIGKILL)


def describe_exit(returncode: int) -> str:
    """Say in words how a process ended; the code is Popen's, negative for a signal."""
    if returncode >= 0:
        return f"ended with exit code {returncode}"
    number = -returncode
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"killed by signal {number}"
    return f"killed by signal {number} ({name})"


def exit_code_of(returncode: int) -> int:
    """Return the worker's exit code for an algorithm that ended with this code of Popen's.

    2 to 4 say something about the config, a dependency or the daemon. An algorithm that happens to
    use one of them says nothing of the kind.
    """
    if returncode < 0:
        return 128 - returncode
    return EXIT_FAILED if EXIT_CONFIG <= returncode <= EXIT_DAEMON else returncode
