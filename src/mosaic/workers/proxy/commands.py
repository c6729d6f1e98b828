"""What the daemon may ask of a run: end, pause, go on."""

from __future__ import annotations

import asyncio
import logging
import signal
import time

from mosaic.workers.process_tree import kill_all, stop_all
from mosaic.workers.proxy.worker import Worker

_LOG = logging.getLogger(__name__)

# After this a process that does not die is named in the log, and killing goes on.
_ROUND_S = 10.0
_STOP_TIMEOUT_S = 5.0


class Commands:
    """Carries out commands. Each may come at any time, twice, or too late."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._kill_at: float | None = None

    @property
    def is_paused(self) -> bool:
        return self._worker.is_stopped()

    def cancel(self, grace_s: float) -> None:
        """Ask the worker to end; `act` ends it after the grace. A later call may shorten that."""
        kill_at = time.monotonic() + max(0.0, grace_s)
        self._kill_at = kill_at if self._kill_at is None else min(self._kill_at, kill_at)
        _LOG.info("asked to end the run within %g s", grace_s)
        self._continue_all()  # a stopped process cannot end in good order
        self._worker.send(signal.SIGTERM)

    async def act(self) -> None:
        """Kill every process of the run, if its grace is over."""
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            _LOG.warning("the grace is over: killing what is left of the run")
            await self.kill()

    async def kill(self) -> int:
        """Kill every process of the run, and return how many once none is left."""
        return await asyncio.to_thread(self._kill_until_none_is_left)

    async def pause(self) -> str | None:
        """Stop every process of the run; returns why that cannot be."""
        if self._worker.has_ended() or self._kill_at is not None:
            return "The run is ending: it cannot be paused."
        if await asyncio.to_thread(stop_all, self._worker.processes, timeout_s=_STOP_TIMEOUT_S):
            return None
        self._continue_all()
        return f"Not every process of the run stopped within {_STOP_TIMEOUT_S:g} s."

    async def unpause(self) -> None:
        await asyncio.to_thread(self._continue_all)

    def _continue_all(self) -> None:
        for process in self._worker.processes():
            process.send(signal.SIGCONT)

    def _kill_until_none_is_left(self) -> int:
        killed = kill_all(self._worker.processes, timeout_s=_ROUND_S)
        while left := self._worker.processes():
            _LOG.warning("these do not die: %s", [process.pid for process in left])
            killed += kill_all(self._worker.processes, timeout_s=_ROUND_S)
        return killed
