"""The streams of the telemetry lane: what is stored, whole; then what comes, within credits."""

from __future__ import annotations

import asyncio
import functools
import sqlite3
from collections.abc import AsyncIterator, Callable

from mosaic.contracts.errors import ConfigError
from mosaic.proto import trainer_pb2 as pb
from mosaic.trainer.bus import RunBus
from mosaic.trainer.credits import LineWatcher
from mosaic.trainer.store import recordings
from mosaic.trainer.store.recordings import Page, Query
from mosaic.trainer.supervisor import Supervisor

_PAGE_LINES = 500
_STARVED_NOTE_S = 1.0

Read = Callable[[sqlite3.Connection, str, Query], Page]
Requests = AsyncIterator[pb.StreamRequest]


class Recorded:
    """Steps and episodes for whoever asks. A slow reader is waited for by the store alone."""

    def __init__(self, supervisor: Supervisor, bus: RunBus) -> None:
        self._supervisor = supervisor
        self._journal = supervisor.journal
        self._bus = bus

    def steps(self, requests: Requests) -> AsyncIterator[pb.TelemetryLines]:
        return self._stream(requests, recordings.read_steps, "steps")

    def episodes(self, requests: Requests) -> AsyncIterator[pb.TelemetryLines]:
        return self._stream(requests, recordings.read_episodes, "episodes")

    async def _stream(
        self, requests: Requests, read: Read, kind: str
    ) -> AsyncIterator[pb.TelemetryLines]:
        request = await anext(aiter(requests), None)
        if request is None:
            raise ConfigError("A stream begins with a request that names its run.")
        run_id = (await self._journal.find(request.run_id)).run_id
        watcher = self._bus.watch_lines(kind, run_id)  # before reading: nothing is missed
        watcher.grant(request.credits)
        listener = asyncio.create_task(_listen(requests, watcher))
        try:
            stored = await self._count(run_id, kind)
            read_to = stored
            if not request.only_new:
                is_in_order = not request.by_return and not request.HasField("episode_index")
                async for lines in self._stored(run_id, read, request):
                    if is_in_order:  # more may have been stored meanwhile: it comes live as well
                        read_to = max(read_to, lines.first_index + len(lines.lines))
                    yield lines
            yield pb.TelemetryLines(is_snapshot_end=True, total=stored)
            if request.follow:
                known = 0 if request.only_new else read_to
                async for lines in self._live(run_id, watcher, known):
                    yield lines
        finally:
            listener.cancel()
            self._bus.leave_lines(kind, run_id, watcher)

    async def _count(self, run_id: str, kind: str) -> int:
        telemetry = self._journal.store.telemetry
        found = await asyncio.wrap_future(telemetry.read(lambda c: recordings.find(c, run_id)))
        return 0 if found is None else int(getattr(found, kind))

    async def _stored(
        self, run_id: str, read: Read, request: pb.StreamRequest
    ) -> AsyncIterator[pb.TelemetryLines]:
        left = request.limit or None
        index: int | None = request.from_index
        while index is not None and left != 0:
            query = Query(
                from_index=index,
                limit=_PAGE_LINES if left is None else min(left, _PAGE_LINES),
                episode_index=request.episode_index if request.HasField("episode_index") else None,
                by_return=request.by_return,
                ascending=request.ascending,
            )
            work = functools.partial(_read, read, run_id, query)
            page = await asyncio.wrap_future(self._journal.store.telemetry.read(work))
            if page.lines:
                yield pb.TelemetryLines(lines=page.lines, first_index=page.first_index)
            left = None if left is None else left - len(page.lines)
            index = page.next_index

    async def _live(
        self, run_id: str, watcher: LineWatcher, known: int
    ) -> AsyncIterator[pb.TelemetryLines]:
        """Yield what comes; a line that the reader has already costs it nothing."""
        has_ended = False
        while not has_ended:
            has_ended = watcher.is_ended or run_id not in self._supervisor.runs
            for lines in await watcher.take(0.0 if has_ended else _STARVED_NOTE_S):
                if lines.lines and lines.first_index < known:
                    watcher.grant(len(lines.lines))
                else:
                    yield lines
        yield pb.TelemetryLines(is_end=True)


def _read(read: Read, run_id: str, query: Query, connection: sqlite3.Connection) -> Page:
    return read(connection, run_id, query)


async def _listen(requests: Requests, watcher: LineWatcher) -> None:
    async for request in requests:
        watcher.grant(request.credits)
