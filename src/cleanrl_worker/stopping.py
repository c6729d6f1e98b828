"""Stopping the algorithm process when the worker is asked to stop."""

from __future__ import annotations

import signal
import time

from cleanrl_worker.child import AlgorithmProcess
from mosaic.workers.stop_requests import StopRequests

__all__ = ["STOP_GRACE_S", "StopRequests", "Stopper"]

STOP_GRACE_S = 10.0


class Stopper:
    """Ask the algorithm to stop, and after the grace, or a second Ctrl-C, make it."""

    def __init__(self, child: AlgorithmProcess, requests: StopRequests, grace_s: float) -> None:
        self._child = child
        self._requests = requests
        self._grace_s = grace_s
        self._kill_at: float | None = None

    def act(self) -> None:
        """Do what is due now."""
        if self._requests.first is None:
            return
        now = time.monotonic()
        if self._kill_at is None:
            self._kill_at = now + self._grace_s
            self._child.signal(signal.SIGTERM)
        if now >= self._kill_at or self._requests.interrupts > 1:
            self._child.signal(signal.SIGKILL)
