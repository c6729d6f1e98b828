"""A run that has not ended, as the daemon holds it in memory."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mosaic.proto import trainer_pb2 as pb
from mosaic.trainer.store.runs import RunRecord

COMMAND_TIMEOUT_S = 15.0


class ProxyLink:
    """The way to a run's proxy while its control stream is open."""

    def __init__(self) -> None:
        self.commands: asyncio.Queue[pb.Command | None] = asyncio.Queue()
        self._answers: dict[str, asyncio.Future[str]] = {}

    def send(self, command: pb.Command) -> None:
        self.commands.put_nowait(command)

    def close(self) -> None:
        self.commands.put_nowait(None)
        for answer in self._answers.values():
            if not answer.done():
                answer.set_result("the proxy went away")

    async def ask(self, command: pb.Command, answer: str) -> str:
        """Send a command and wait for its answer; what is returned is why it failed."""
        future = self._answers[answer] = asyncio.get_running_loop().create_future()
        self.send(command)
        try:
            return await asyncio.wait_for(future, COMMAND_TIMEOUT_S)
        except TimeoutError:
            return f"the proxy did not answer within {COMMAND_TIMEOUT_S:.0f} s"
        finally:
            self._answers.pop(answer, None)

    def answered(self, answer: str) -> None:
        if (future := self._answers.get(answer)) is not None and not future.done():
            future.set_result("")

    def failed(self, reason: str) -> None:
        for future in self._answers.values():
            if not future.done():
                future.set_result(reason)


@dataclass(eq=False, slots=True)
class ActiveRun:
    """Everything about an unfinished run; `lock` is held while its record changes."""

    record: RunRecord
    secrets: Mapping[str, str] = field(default_factory=dict)
    events_offset: int = 0
    points_offset: int = 0
    offset: int = 0  # acknowledged
    saved_events_offset: int = 0
    saved_points_offset: int = 0
    link: ProxyLink | None = None
    last_event: str | None = None
    last_payload: Mapping[str, Any] = field(default_factory=dict)
    unsaved: dict[str, Any] = field(default_factory=dict)
    saved_at: float = 0.0
    last_sign: float = field(default_factory=time.monotonic)
    paused_since: float | None = None
    proxy_starts: deque[float] = field(default_factory=lambda: deque(maxlen=6))
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def run_id(self) -> str:
        return self.record.run_id

    @property
    def is_cancelling(self) -> bool:
        return self.record.cancel_requested_at is not None

    def newest(self) -> RunRecord:
        """Return the record with the progress that is not written yet."""
        return dataclasses.replace(self.record, **self.unsaved) if self.unsaved else self.record

    def was_heard(self) -> None:
        """Note a sign of the worker's."""
        self.last_sign = time.monotonic()
