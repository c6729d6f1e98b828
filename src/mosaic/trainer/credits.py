"""A subscriber of the telemetry lane: it is sent as many new lines as it has credits for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from mosaic.contracts.telemetry import INITIAL_CREDITS
from mosaic.proto import trainer_pb2 as pb

# What somebody may ask for ahead of time: the lines it stands for may lie here unread.
CREDIT_LIMIT = 100_000


@dataclass(eq=False, slots=True)
class LineWatcher:
    """Somebody who watches the steps, or the episodes, of a run.

    Nobody waits for it. Out of credits it costs the run one addition a batch.
    """

    credits: int = INITIAL_CREDITS
    is_ended: bool = False
    is_starved: bool = False
    skipped: int = 0  # since it starved
    _news: list[pb.TelemetryLines] = field(default_factory=list)
    _told: int = 0  # of `skipped`
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, first_index: int, lines: Sequence[bytes]) -> None:
        taken = min(self.credits, len(lines))
        if taken:
            self.credits -= taken
            texts = [line.decode("utf-8", errors="replace") for line in lines[:taken]]
            self._news.append(pb.TelemetryLines(lines=texts, first_index=first_index))
            self._changed.set()
        if taken < len(lines):
            self.skipped += len(lines) - taken
            if not self.is_starved:
                self.is_starved = True
                self._tell(pb.STARVED)

    def grant(self, credits: int) -> None:
        """Take more credits; with them it goes on, and hears what it has missed."""
        self.credits = min(CREDIT_LIMIT, self.credits + max(0, credits))
        if self.is_starved and self.credits:
            self._tell(pb.RESUMED)
            self.is_starved, self.skipped, self._told = False, 0, 0

    def _tell(self, flow: pb.Flow) -> None:
        self._told = self.skipped
        self._news.append(pb.TelemetryLines(flow=flow, skipped=self.skipped))
        self._changed.set()

    def end(self) -> None:
        self.is_ended = True
        self._changed.set()

    async def take(self, timeout_s: float) -> list[pb.TelemetryLines]:
        """Wait for news; while it starves, say from time to time how much was left out."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), timeout_s)
        self._changed.clear()
        if self.is_starved and self.skipped > self._told:
            self._tell(pb.STARVED)
            self._changed.clear()
        news, self._news = self._news, []
        return news
