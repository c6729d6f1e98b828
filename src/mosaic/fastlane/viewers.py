"""Who looks at a run: a table that viewers sign, and the run reads before it renders."""

from __future__ import annotations

import os
import secrets
import struct
import time
from typing import NamedTuple

from mosaic.fastlane.status import MAX_VIEWERS, MAX_WANTED_BUDGET, ViewerInfo

# Without a sign of life for so long, a viewer is gone or hangs.
ATTACHED_S = 2.0

# token, pid, last sign of life (the monotonic clock, one for all processes), wanted budget
_VIEWER = struct.Struct("=QQdd")
_VIEWER_WORDS = _VIEWER.size // 8


class Viewer(NamedTuple):
    token: int
    pid: int
    seen: float
    wanted_budget: float

    def is_attached(self, now: float) -> bool:
        return self.token != 0 and abs(now - self.seen) <= ATTACHED_S and _lives(self.pid)


class ViewerTable:
    """The table in the `run` file.

    There is no lock. Two viewers that take one place at the same moment find out by their tokens:
    the one that lost it signs elsewhere at its next sign of life.
    """

    def __init__(self, memory: memoryview) -> None:
        self._memory = memory[: MAX_VIEWERS * _VIEWER.size]
        self._words = self._memory.cast("Q")

    def close(self) -> None:
        self._words.release()
        self._memory.release()

    def attached(self) -> list[Viewer]:
        now = time.monotonic()
        return [viewer for viewer in self._rows() if viewer.is_attached(now)]

    def info(self, budget: float, view_budget: float) -> ViewerInfo:
        """Return how many look on, and the budget that follows from the run's own two."""
        attached = self.attached()
        if not attached:
            return ViewerInfo(0, budget)
        wanted = max(viewer.wanted_budget for viewer in attached)
        return ViewerInfo(len(attached), max(view_budget, min(wanted, MAX_WANTED_BUDGET)))

    def sign(self, place: int | None, token: int, wanted_budget: float) -> int | None:
        """Give a sign of life; return the viewer's place, or None where the table is full."""
        if place is None or self._words[place * _VIEWER_WORDS] != token:
            place = self._free_place()
        if place is None:
            return None
        now = time.monotonic()
        _VIEWER.pack_into(
            self._memory, place * _VIEWER.size, token, os.getpid(), now, wanted_budget
        )
        return place

    def leave(self, place: int | None, token: int) -> None:
        if place is not None and self._words[place * _VIEWER_WORDS] == token:
            self._words[place * _VIEWER_WORDS] = 0

    def _free_place(self) -> int | None:
        now = time.monotonic()
        free = (place for place, row in enumerate(self._rows()) if not row.is_attached(now))
        return next(free, None)

    def _rows(self) -> list[Viewer]:
        return [Viewer(*fields) for fields in _VIEWER.iter_unpack(self._memory)]


def new_token() -> int:
    return secrets.randbits(63) + 1


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
