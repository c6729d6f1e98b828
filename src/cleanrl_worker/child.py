"""The algorithm process, as its worker sees it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cleanrl_worker.channel_reader import ChannelReader
from cleanrl_worker.child_environment import child_environment
from mosaic.contracts.errors import StorageError

# -P: the working directory is the run directory, whose files must not shadow modules.
LAUNCHER: tuple[str, ...] = (sys.executable, "-P", "-m", "cleanrl_worker.launcher")
EVALUATOR: tuple[str, ...] = (sys.executable, "-P", "-m", "cleanrl_worker.evaluator")

_SETTLE_S = 0.02  # between the end of the channel and the end of the process
# getrusage counts kilobytes on Linux and bytes on macOS.
_MAXRSS_PER_MB = 2**20 if sys.platform == "darwin" else 2**10


class AlgorithmProcess:
    """A child in the worker's own process group: what signals the group reaches both."""

    def __init__(self, process: subprocess.Popen[bytes], reader: ChannelReader) -> None:
        self._process = process
        self._reader = reader
        self.returncode: int | None = None
        self.peak_rss_mb: float | None = None

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        cwd: Path,
        stdout: Path,
        stderr: Path,
        run_id: str,
        variables: Mapping[str, str],
        code: Sequence[Path] = (),
    ) -> AlgorithmProcess:
        """Start the process; from the main thread, since the child dies with the thread."""
        reading, writing = os.pipe()
        environment = child_environment(
            os.environ, run_id=run_id, variables=variables, event_fd=writing, code=code
        )
        try:
            with stdout.open("ab") as out, stderr.open("ab") as err:
                process = subprocess.Popen(
                    command,
                    cwd=cwd,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    pass_fds=(writing,),
                )
        except OSError as error:
            os.close(reading)
            raise StorageError(f"The algorithm process cannot be started: {error}.") from None
        finally:
            os.close(writing)
        return cls(process, ChannelReader(reading))

    @property
    def pid(self) -> int:
        return self._process.pid

    def read(self, timeout_s: float) -> list[dict[str, Any]]:
        """Return the messages that came within the timeout."""
        if self._reader.is_at_end:
            time.sleep(min(timeout_s, _SETTLE_S))
        return self._reader.read(timeout_s)

    def read_rest(self) -> list[dict[str, Any]]:
        """Return the messages that the process left behind when it ended."""
        return self._reader.read_rest()

    def poll(self) -> bool:
        """Say whether the process has ended, and keep what the kernel tells of it."""
        if self.returncode is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self._process.returncode = self.returncode = os.waitstatus_to_exitcode(status)
                self.peak_rss_mb = round(usage.ru_maxrss / _MAXRSS_PER_MB, 1)
        return self.returncode is not None

    def signal(self, number: signal.Signals) -> None:
        if not self.poll():
            os.kill(self.pid, number)

    def rss_mb(self) -> float | None:
        """Return the memory that the process holds now."""
        import psutil

        try:
            return round(psutil.Process(self.pid).memory_info().rss / 2**20, 1)
        except psutil.Error:
            return None

    def close(self) -> None:
        self._reader.close()
