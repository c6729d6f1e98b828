"""The client of programs without an event loop: a call returns its answer, a stream iterates."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

import grpc

from mosaic.client import calls
from mosaic.client.errors import as_error, is_time_over
from mosaic.client.feeds import Feed
from mosaic.contracts.tokens import as_metadata
from mosaic.proto import trainer_pb2 as pb
from mosaic.proto.trainer_pb2_grpc import TrainerStub

T = TypeVar("T")


class Client:
    """A connection to one daemon. Its errors are those of `mosaic.contracts.errors`.

    Threads may share it. A `run_id` is an id or any unambiguous prefix of one.
    """

    def __init__(self, target: str, token: str) -> None:
        self.target = target
        self._metadata = (as_metadata(token),)
        self._channel = grpc.insecure_channel(target, options=list(calls.CHANNEL_OPTIONS))
        self._stub = TrainerStub(self._channel)
        self._is_closed = False

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def is_answered(self, timeout_s: float) -> bool:
        """Say whether the daemon answers, at the latest after this time."""
        try:
            grpc.channel_ready_future(self._channel).result(timeout_s)
        except grpc.FutureTimeoutError:
            return False
        return True

    def close(self) -> None:
        """Let go of the connection; streams that are being read end."""
        self._is_closed = True
        self._channel.close()

    # Runs

    def submit(
        self, config: Mapping[str, Any], *, secrets: Mapping[str, str] | None = None
    ) -> pb.SubmitRunResponse:
        """Submit a run config. Secrets reach the run's environment and are kept nowhere."""
        return self._call(calls.submit(config, secrets))

    def validate(
        self, config: Mapping[str, Any], *, secrets: Mapping[str, str] | None = None
    ) -> pb.ValidateConfigResponse:
        """Do the dry run of a run config."""
        return self._call(calls.validate(config, secrets))

    def cancel(self, run_id: str) -> pb.Run:
        """Ask a run to end; it is `is_cancelling` until every process of it is gone."""
        return self._call(calls.cancel(run_id))

    def pause(self, run_id: str) -> pb.Run:
        return self._call(calls.pause(run_id))

    def unpause(self, run_id: str) -> pb.Run:
        return self._call(calls.unpause(run_id))

    def get_run(self, run_id: str, *, with_events: bool = False) -> pb.RunDetails:
        return self._call(calls.get_run(run_id, with_events))

    def list_runs(self, **filters: Any) -> pb.ListRunsResponse:
        """Return one page; the filters are the fields of ListRunsRequest."""
        return self._call(calls.list_runs(filters))

    def all_runs(self, **filters: Any) -> Iterator[pb.Run]:
        """Return the runs of every page, each page when it is reached."""
        filters.setdefault("page_size", calls.PAGE_SIZE)
        while True:
            page = self.list_runs(**filters)
            yield from page.runs
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
    ) -> Iterator[pb.RunUpdate]:
        """Return the present runs, then every change, until the reader stops or time is up."""
        return self._stream(calls.watch_runs(run_ids, only_unfinished, without_snapshot, timeout_s))

    def delete(self, run_id: str, *, purge: bool = False) -> pb.Run:
        """Move a run to the bin, or remove every file of it."""
        return self._call(calls.delete(run_id, purge))

    def restore(self, run_id: str) -> pb.Run:
        return self._call(calls.restore(run_id))

    def archive(self, run_id: str, *, undo: bool = False) -> pb.Run:
        """Hide an ended run from lists, or show it again."""
        return self._call(calls.archive(run_id, undo))

    def export(self, run_id: str, *, with_checkpoints: bool = False) -> Iterator[bytes]:
        """Return an ended run as the pieces of a ZIP file."""
        return (chunk.data for chunk in self._stream(calls.export(run_id, with_checkpoints)))

    def import_run(self, pieces: Iterable[bytes]) -> pb.Run:
        """Take in a run that was exported, given as the pieces of its file."""
        try:
            answer: pb.Run = self._stub.ImportRun(
                calls.chunks(pieces, "run.zip"), metadata=self._metadata, timeout=calls.FILES_S
            )
        except grpc.RpcError as error:
            raise as_error(error, error.trailing_metadata(), self.target) from None
        return answer

    # What a run tells

    def metrics(
        self, run_id: str, tags: Iterable[str] = (), **options: Any
    ) -> Iterator[pb.MetricsUpdate]:
        """Return the envelope of each tag, then with `follow=True` the points that come.

        The options are the fields of StreamMetricsRequest.
        """
        return self._stream(calls.metrics(run_id, tags, options))

    def steps(self, run_id: str, **options: Any) -> Feed:
        """Return the steps that are stored, then with `follow=True` those that come.

        The options are the fields of StreamRequest. What comes costs a credit a line; `grant` of
        the feed asks for more.
        """
        return self._feed(self._stub.StreamSteps, run_id, options)

    def episodes(self, run_id: str, **options: Any) -> Feed:
        """Return episodes in the same way, or with `by_return=True` the best first."""
        return self._feed(self._stub.StreamEpisodes, run_id, options)

    def _feed(self, method: Any, run_id: str, options: Mapping[str, Any]) -> Feed:
        request = pb.StreamRequest(run_id=run_id, **options)
        return Feed(method, request, self._metadata, self.target)

    def logs(
        self, run_id: str, stream: str = "stderr", *, lines: int = 100, follow: bool = False
    ) -> Iterator[bytes]:
        """Return the end of a log, then with `follow` what is added; without a run the daemon's."""
        return (chunk.data for chunk in self._stream(calls.logs(run_id, stream, lines, follow)))

    # The daemon and what is installed

    def health(self) -> pb.Health:
        return self._call(calls.health())

    def workers(self) -> list[dict[str, Any]]:
        return list(json.loads(self._call(calls.workers()).workers_json))

    def worker_schema(self, worker: str) -> dict[str, Any]:
        return dict(json.loads(self._call(calls.worker_schema(worker)).schema_json))

    def _call(self, call: calls.Call[T]) -> T:
        method = getattr(self._stub, call.method)
        try:
            answer: T = method(call.request, metadata=self._metadata, timeout=call.timeout_s)
        except grpc.RpcError as error:
            raise as_error(error, error.trailing_metadata(), self.target) from None
        return answer

    def _stream(self, stream: calls.Stream[T]) -> Iterator[T]:
        method = getattr(self._stub, stream.method)
        call = method(stream.request, metadata=self._metadata, timeout=stream.timeout_s)
        try:
            yield from call
        except grpc.RpcError as error:
            if not self._is_closed and not is_time_over(error, stream):
                raise as_error(error, error.trailing_metadata(), self.target) from None
        finally:
            call.cancel()
