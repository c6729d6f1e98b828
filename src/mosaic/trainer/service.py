"""The calls of users: one method each, with the work done elsewhere."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from mosaic.contracts.errors import ConfigError
from mosaic.proto import trainer_pb2 as pb
from mosaic.proto.trainer_pb2_grpc import TrainerServicer
from mosaic.trainer.answers import Context, answered, streamed
from mosaic.trainer.archive.exchange import Exchange
from mosaic.trainer.auth import Tokens
from mosaic.trainer.desk import Desk
from mosaic.trainer.disposal import Disposal
from mosaic.trainer.dry_run import validate
from mosaic.trainer.guests import Guests
from mosaic.trainer.health import HealthReport
from mosaic.trainer.messages import details_message, run_message
from mosaic.trainer.recorded import Recorded
from mosaic.trainer.store import runs
from mosaic.trainer.store.runs import RunQuery, RunRecord
from mosaic.trainer.streams import Streams
from mosaic.trainer.supervisor import Supervisor
from mosaic.trainer.worker_calls import WorkerCalls

# ruff: noqa: N802 - the names are the protocol's

_QUERY_FIELDS = (
    *("algo", "env_id", "worker", "text", "parent_run_id", "only_unfinished", "only_deleted"),
    *("with_archived", "order_by", "ascending", "page_size", "page_token"),
)


class TrainerService(WorkerCalls, TrainerServicer):
    """Everything that the protocol offers; the workers' half is in WorkerCalls."""

    def __init__(
        self,
        supervisor: Supervisor,
        tokens: Tokens,
        streams: Streams,
        recorded: Recorded,
        desk: Desk,
        disposal: Disposal,
        health: HealthReport,
    ) -> None:
        super().__init__(supervisor, Guests(supervisor, desk), tokens)
        self._streams = streams
        self._recorded = recorded
        self._desk = desk
        self._disposal = disposal
        self._health = health
        self._exchange = Exchange(supervisor.journal, disposal, desk.paths)

    @answered
    async def SubmitRun(
        self, request: pb.SubmitRunRequest, context: Context
    ) -> pb.SubmitRunResponse:
        submission = self._desk.prepare(request.config_json, dict(request.secrets))
        record, is_new = await self._supervisor.submit(submission)
        return pb.SubmitRunResponse(run=self._message(record), is_new=is_new)

    @answered
    async def ValidateConfig(
        self, request: pb.ValidateConfigRequest, context: Context
    ) -> pb.ValidateConfigResponse:
        submission = self._desk.prepare(request.config_json, dict(request.secrets))
        return await validate(submission, self._desk.paths)

    @answered
    async def CancelRun(self, request: pb.RunRequest, context: Context) -> pb.Run:
        return await self._change(request.run_id, self._supervisor.cancel)

    @answered
    async def PauseRun(self, request: pb.RunRequest, context: Context) -> pb.Run:
        return await self._change(request.run_id, self._supervisor.pause)

    @answered
    async def UnpauseRun(self, request: pb.RunRequest, context: Context) -> pb.Run:
        return await self._change(request.run_id, self._supervisor.unpause)

    @answered
    async def DeleteRun(self, request: pb.DeleteRunRequest, context: Context) -> pb.Run:
        dispose = self._disposal.purge if request.purge else self._disposal.delete
        return await self._change(request.run_id, dispose)

    @answered
    async def RestoreRun(self, request: pb.RunRequest, context: Context) -> pb.Run:
        return await self._change(request.run_id, self._disposal.restore)

    @answered
    async def ArchiveRun(self, request: pb.ArchiveRunRequest, context: Context) -> pb.Run:
        archive = functools.partial(self._disposal.archive, is_undo=request.undo)
        return await self._change(request.run_id, archive)

    @streamed
    async def ExportRun(
        self, request: pb.ExportRunRequest, context: Context
    ) -> AsyncIterator[pb.FileChunk]:
        record = await self._supervisor.journal.find(request.run_id)
        pieces = self._exchange.export(record, with_checkpoints=request.with_checkpoints)
        async for piece in pieces:
            yield pb.FileChunk(name=f"{record.run_id}.zip", data=piece)

    @answered
    async def ImportRun(self, request: AsyncIterator[pb.FileChunk], context: Context) -> pb.Run:
        pieces = (chunk.data async for chunk in request)
        return self._message(await self._exchange.take_in(pieces))

    @answered
    async def GetRun(self, request: pb.GetRunRequest, context: Context) -> pb.RunDetails:
        record = await self._supervisor.journal.find(request.run_id)
        run_id = record.run_id
        paths = self._disposal.files(record)
        return details_message(
            self._message(self._newest(record)),
            record,
            run_dir=str(paths.root),
            manifest=await asyncio.to_thread(_text_of, paths.manifest),
            event_lines=(
                await self._supervisor.journal.event_lines(run_id) if request.with_events else ()
            ),
        )

    @answered
    async def ListRuns(self, request: pb.ListRunsRequest, context: Context) -> pb.ListRunsResponse:
        given = {name: value for name in _QUERY_FIELDS if (value := getattr(request, name))}
        query = RunQuery(states=tuple(request.states), outcomes=tuple(request.outcomes), **given)
        page = await self._supervisor.journal.read(lambda c: runs.page(c, query))
        return pb.ListRunsResponse(
            runs=[self._message(self._newest(record)) for record in page.records],
            next_page_token=page.next_token or "",
            total_count=page.total,
        )

    @streamed
    async def WatchRuns(
        self, request: pb.WatchRunsRequest, context: Context
    ) -> AsyncIterator[pb.RunUpdate]:
        async for update in self._streams.watch_runs(request):
            yield update

    @streamed
    async def StreamMetrics(
        self, request: pb.StreamMetricsRequest, context: Context
    ) -> AsyncIterator[pb.MetricsUpdate]:
        async for update in self._streams.stream_metrics(request):
            yield update

    @streamed
    async def TailLogs(
        self, request: pb.TailLogsRequest, context: Context
    ) -> AsyncIterator[pb.LogChunk]:
        async for chunk in self._streams.tail_logs(request):
            yield chunk

    @streamed
    async def StreamSteps(
        self, request: AsyncIterator[pb.StreamRequest], context: Context
    ) -> AsyncIterator[pb.TelemetryLines]:
        async for lines in self._recorded.steps(request):
            yield lines

    @streamed
    async def StreamEpisodes(
        self, request: AsyncIterator[pb.StreamRequest], context: Context
    ) -> AsyncIterator[pb.TelemetryLines]:
        async for lines in self._recorded.episodes(request):
            yield lines

    @answered
    async def GetHealth(self, request: pb.GetHealthRequest, context: Context) -> pb.Health:
        return await self._health.make()

    @answered
    async def ListWorkers(
        self, request: pb.ListWorkersRequest, context: Context
    ) -> pb.ListWorkersResponse:
        workers = [worker.to_json() for worker in self._desk.refresh()]
        return pb.ListWorkersResponse(workers_json=json.dumps(workers))

    @answered
    async def GetWorkerSchema(
        self, request: pb.GetWorkerSchemaRequest, context: Context
    ) -> pb.GetWorkerSchemaResponse:
        return pb.GetWorkerSchemaResponse(schema_json=self._desk.schema_of(request.worker))

    async def _change(
        self, prefix: str, work: Callable[[RunRecord], Coroutine[Any, Any, RunRecord]]
    ) -> pb.Run:
        return self._message(await work(await self._supervisor.journal.find(prefix)))

    def _newest(self, record: RunRecord) -> RunRecord:
        """Return the record with the progress that is not written yet."""
        run = self._supervisor.runs.get(record.run_id)
        return record if run is None else run.newest()

    def _message(self, record: RunRecord) -> pb.Run:
        return run_message(record, self._streams.queue())


def _refuse(what: str) -> Any:
    raise ConfigError(f"{what} is not in this version of MOSAIC.")


def _text_of(path: Any) -> str:
    try:
        return str(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return ""
