"""Requests to stop: the signals that a worker was sent while its run lasts."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any, Self


class StopRequests:
    """Note SIGTERM and SIGINT instead of dying of them. For the main thread."""

    def __init__(self) -> None:
        self.first: signal.Signals | None = None
        self.interrupts = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGTERM, signal.SIGINT):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.first = self.first or signal.Signals(number)
        self.interrupts += number == signal.SIGINT

    @property
    def exit_code(self) -> int:
        """Return 143 or 130, the exit codes of a program that these signals ended."""
        return 128 + (self.first or signal.SIGTERM)
