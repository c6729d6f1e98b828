"""The calls that go on: runs as they change, curves as they grow, logs as they are written."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.paths import VarPaths
from mosaic.proto import trainer_pb2 as pb
from mosaic.trainer.bus import RunBus
from mosaic.trainer.journal import Journal
from mosaic.trainer.logs import follow, tail
from mosaic.trainer.messages import envelope_message, points_message, run_message, tag_message
from mosaic.trainer.store import metrics, runs
from mosaic.trainer.store.metrics import TagSummary
from mosaic.trainer.store.runs import RunQuery, RunRecord
from mosaic.trainer.supervisor import Supervisor

_PAGE = 1000
_DEFAULT_POINTS = 1000
_DEFAULT_LINES = 100


class Streams:
    def __init__(self, supervisor: Supervisor, bus: RunBus, paths: VarPaths) -> None:
        self._supervisor = supervisor
        self._journal: Journal = supervisor.journal
        self._bus = bus
        self._paths = paths

    def queue(self) -> Mapping[str, int]:
        """Return the places of the runs that wait; 1 is next."""
        waiting = self._supervisor.starter.queue
        return {run.run_id: place for place, run in enumerate(waiting, 1)}

    async def watch_runs(self, request: pb.WatchRunsRequest) -> AsyncIterator[pb.RunUpdate]:
        run_ids = [(await self._journal.find(prefix)).run_id for prefix in request.run_ids]
        watcher = self._bus.watch_runs(run_ids)  # before the snapshot, so that nothing is missed
        try:
            if not request.without_snapshot:
                async for record in self._snapshot(run_ids, request.only_unfinished):
                    yield pb.RunUpdate(run=run_message(record, self.queue()))
            yield pb.RunUpdate(is_snapshot_end=True)
            while True:
                news, removed = await watcher.take()
                for record in news:
                    yield pb.RunUpdate(run=run_message(record, self.queue()))
                for run_id in removed:
                    yield pb.RunUpdate(run=pb.Run(run_id=run_id), is_removed=True)
        finally:
            self._bus.leave(watcher)

    async def _snapshot(
        self, run_ids: list[str], only_unfinished: bool
    ) -> AsyncIterator[RunRecord]:
        for run_id in run_ids:
            yield await self._journal.find(run_id)
        token = None if run_ids else ""
        while token is not None:
            query = RunQuery(
                only_unfinished=only_unfinished, page_size=_PAGE, page_token=token, ascending=True
            )
            page = await self._journal.read(functools.partial(runs.page, query=query))
            for record in page.records:
                yield record
            token = page.next_token or None

    async def stream_metrics(
        self, request: pb.StreamMetricsRequest
    ) -> AsyncIterator[pb.MetricsUpdate]:
        record = await self._journal.find(request.run_id)
        watcher = self._bus.watch_metrics(record.run_id, request.tags)
        try:
            yield await self._curves(record.run_id, request)
            if not request.follow:
                return
            while record.run_id in self._supervisor.runs and not watcher.is_ended:
                points = await watcher.take()
                if watcher.is_behind:
                    watcher.is_behind = False
                    yield await self._curves(record.run_id, request)
                elif points:
                    yield pb.MetricsUpdate(series=points_message(points))
            yield pb.MetricsUpdate(is_end=True)
        finally:
            self._bus.leave(watcher)

    async def _curves(self, run_id: str, request: pb.StreamMetricsRequest) -> pb.MetricsUpdate:
        telemetry = self._journal.store.telemetry
        known = await asyncio.wrap_future(telemetry.read(lambda c: metrics.tags(c, run_id)))
        wanted = [tag for tag in known if not request.tags or tag.tag in request.tags]
        if request.only_tags:
            return pb.MetricsUpdate(series=[tag_message(tag) for tag in wanted], is_snapshot=True)
        series = [await self._curve(run_id, tag, request) for tag in wanted]
        return pb.MetricsUpdate(series=series, is_snapshot=True)

    async def _curve(
        self, run_id: str, tag: TagSummary, request: pb.StreamMetricsRequest
    ) -> pb.Series:
        low = request.from_step if request.HasField("from_step") else None
        high = request.to_step if request.HasField("to_step") else None
        limit = request.max_points or _DEFAULT_POINTS
        envelope = await asyncio.wrap_future(
            self._journal.store.telemetry.read(
                lambda c: metrics.envelope(c, run_id, tag.tag, low, high, limit)
            )
        )
        return envelope_message(tag, envelope)

    async def tail_logs(self, request: pb.TailLogsRequest) -> AsyncIterator[pb.LogChunk]:
        path, run_id = await self._log(request)
        data, offset = await asyncio.to_thread(tail, path, request.lines or _DEFAULT_LINES)
        yield pb.LogChunk(data=data)
        if not request.follow:
            return
        # Of a run that has ended, everything is there; the daemon's own log has no end.
        async for more in follow(path, offset, until=lambda: self._has_ended(run_id)):
            yield pb.LogChunk(data=more)

    def _has_ended(self, run_id: str | None) -> bool:
        return run_id is not None and run_id not in self._supervisor.runs

    async def _log(self, request: pb.TailLogsRequest) -> tuple[Path, str | None]:
        if not request.run_id:
            return self._paths.daemon_log, None
        record = await self._journal.find(request.run_id)
        run = self._supervisor.starter.executor.files(record.run_id, record.mode)
        proxy = self._paths.proxy(record.run_id)
        streams = {
            "stderr": run.stderr_log,
            "stdout": run.stdout_log,
            "events": run.events,
            "worker": proxy.worker_stderr,
            "proxy": proxy.log,
        }
        path = streams.get(request.stream or "stderr")
        if path is None:
            raise ConfigError(
                f"stream={request.stream!r} is not allowed: give one of {', '.join(streams)}."
            )
        return path, record.run_id
