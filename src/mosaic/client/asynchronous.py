"""The client of programs with an event loop, such as the GUI: the calls of `Client` as coroutines.

What each call means is said there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from types import TracebackType
from typing import Any, TypeVar

import grpc

from mosaic.client import calls
from mosaic.client.errors import as_error, is_time_over
from mosaic.client.feeds import AsyncFeed
from mosaic.contracts.tokens import as_metadata
from mosaic.proto import trainer_pb2 as pb
from mosaic.proto.trainer_pb2_grpc import TrainerStub

T = TypeVar("T")


class AsyncClient:
    """A connection to one daemon, for one event loop."""

    def __init__(self, target: str, token: str) -> None:
        self.target = target
        self._metadata = (as_metadata(token),)
        self._channel = grpc.aio.insecure_channel(target, options=list(calls.CHANNEL_OPTIONS))
        self._stub = TrainerStub(self._channel)
        self._is_closed = False

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def is_answered(self, timeout_s: float) -> bool:
        try:
            await asyncio.wait_for(self._channel.channel_ready(), timeout_s)
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        self._is_closed = True
        await self._channel.close()

    # Runs

    async def submit(
        self, config: Mapping[str, Any], *, secrets: Mapping[str, str] | None = None
    ) -> pb.SubmitRunResponse:
        return await self._call(calls.submit(config, secrets))

    async def validate(
        self, config: Mapping[str, Any], *, secrets: Mapping[str, str] | None = None
    ) -> pb.ValidateConfigResponse:
        return await self._call(calls.validate(config, secrets))

    async def cancel(self, run_id: str) -> pb.Run:
        return await self._call(calls.cancel(run_id))

    async def pause(self, run_id: str) -> pb.Run:
        return await self._call(calls.pause(run_id))

    async def unpause(self, run_id: str) -> pb.Run:
        return await self._call(calls.unpause(run_id))

    async def get_run(self, run_id: str, *, with_events: bool = False) -> pb.RunDetails:
        return await self._call(calls.get_run(run_id, with_events))

    async def list_runs(self, **filters: Any) -> pb.ListRunsResponse:
        return await self._call(calls.list_runs(filters))

    async def all_runs(self, **filters: Any) -> AsyncIterator[pb.Run]:
        filters.setdefault("page_size", calls.PAGE_SIZE)
        while True:
            page = await self.list_runs(**filters)
            for run in page.runs:
                yield run
            if not page.next_page_token:
                return
            filters["page_token"] = page.next_page_token

    def watch_runs(
        self,
        run_ids: Iterable[str] = (),
        *,
        only_unfinished: bool = False,
        without_snapshot: bool = False,
        timeout_s: float | None = None,
    ) -> AsyncIterator[pb.RunUpdate]:
        return self._stream(calls.watch_runs(run_ids, only_unfinished, without_snapshot, timeout_s))

    async def delete(self, run_id: str, *, purge: bool = False) -> pb.Run:
        return await self._call(calls.delete(run_id, purge))

    async def restore(self, run_id: str) -> pb.Run:
        return await self._call(calls.restore(run_id))

    async def archive(self, run_id: str, *, undo: bool = False) -> pb.Run:
        return await self._call(calls.archive(run_id, undo))

    async def export(self, run_id: str, *, with_checkpoints: bool = False) -> AsyncIterator[bytes]:
        async for chunk in self._stream(calls.export(run_id, with_checkpoints)):
            yield chunk.data

    async def import_run(self, pieces: Iterable[bytes]) -> pb.Run:
        """Take in a run that was exported, given as the pieces of its file."""
        try:
            answer: pb.Run = await self._stub.ImportRun(
                calls.chunks(pieces, "run.zip"), metadata=self._metadata, timeout=calls.FILES_S
            )
        except grpc.aio.AioRpcError as error:
            raise as_error(error, error.trailing_metadata(), self.target) from None
        return answer

    # What a run tells

    def metrics(
        self, run_id: str, tags: Iterable[str] = (), **options: Any
    ) -> AsyncIterator[pb.MetricsUpdate]:
        return self._stream(calls.metrics(run_id, tags, options))

    def steps(self, run_id: str, **options: Any) -> AsyncFeed:
        return self._feed(self._stub.StreamSteps, run_id, options)

    def episodes(self, run_id: str, **options: Any) -> AsyncFeed:
        return self._feed(self._stub.StreamEpisodes, run_id, options)

    def _feed(self, method: Any, run_id: str, options: Mapping[str, Any]) -> AsyncFeed:
        request = pb.StreamRequest(run_id=run_id, **options)
        return AsyncFeed(method(metadata=self._metadata), request, self.target)

    async def logs(
        self, run_id: str, stream: str = "stderr", *, lines: int = 100, follow: bool = False
    ) -> AsyncIterator[bytes]:
        async for chunk in self._stream(calls.logs(run_id, stream, lines, follow)):
            yield chunk.data

    # The daemon and what is installed

    async def health(self) -> pb.Health:
        return await self._call(calls.health())

    async def workers(self) -> list[dict[str, Any]]:
        return list(json.loads((await self._call(calls.workers())).workers_json))

    async def worker_schema(self, worker: str) -> dict[str, Any]:
        return dict(json.loads((await self._call(calls.worker_schema(worker))).schema_json))

    async def _call(self, call: calls.Call[T]) -> T:
        method = getattr(self._stub, call.method)
        try:
            answer: T = await method(call.request, metadata=self._metadata, timeout=call.timeout_s)
        except grpc.aio.AioRpcError as error:
            raise as_error(error, error.trailing_metadata(), self.target) from None
        return answer

    async def _stream(self, stream: calls.Stream[T]) -> AsyncIterator[T]:
        method = getattr(self._stub, stream.method)
        call = method(stream.request, metadata=self._metadata, timeout=stream.timeout_s)
        try:
            async for message in call:
                yield message
        except grpc.aio.AioRpcError as error:
            if not self._is_closed and not is_time_over(error, stream):
                raise as_error(error, error.trailing_metadata(), self.target) from None
        finally:
            call.cancel()
