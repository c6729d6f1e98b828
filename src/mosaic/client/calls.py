"""The calls that both clients make, each with its request and its deadline, so that they agree."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message

from mosaic.proto import trainer_pb2 as pb

T = TypeVar("T")

MESSAGE_LIMIT = 64 * 1024 * 1024
PAGE_SIZE = 1000

CHANNEL_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.max_send_message_length", MESSAGE_LIMIT),
    ("grpc.max_receive_message_length", MESSAGE_LIMIT),
    # A proxy of the environment is for the network; the daemon is on this machine.
    ("grpc.enable_http_proxy", 0),
    # A daemon that hangs is noticed, also on a stream where nothing is to be told.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    # Channels of one process would share a connection, and with it the pauses after its failures.
    ("grpc.use_local_subchannel_pool", 1),
)

# An answer takes milliseconds; what is slow here is a machine that is overloaded.
_ANSWER_S = 20.0
FILES_S = 300.0  # a run's files are moved or removed
_DRY_RUN_S = 300.0  # the algorithm is imported and its environment built


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request, one answer."""

    method: str
    request: Message
    timeout_s: float = _ANSWER_S


@dataclass(frozen=True, slots=True)
class Stream(Generic[T]):
    """One request, answers until either side ends it, or quietly after a time."""

    method: str
    request: Message
    timeout_s: float | None = None


def submit(
    config: Mapping[str, Any], secrets: Mapping[str, str] | None
) -> Call[pb.SubmitRunResponse]:
    request = pb.SubmitRunRequest(config_json=json.dumps(config), secrets=dict(secrets or {}))
    return Call("SubmitRun", request)


def validate(
    config: Mapping[str, Any], secrets: Mapping[str, str] | None
) -> Call[pb.ValidateConfigResponse]:
    request = pb.ValidateConfigRequest(config_json=json.dumps(config), secrets=dict(secrets or {}))
    return Call("ValidateConfig", request, _DRY_RUN_S)


def cancel(run_id: str) -> Call[pb.Run]:
    return Call("CancelRun", pb.RunRequest(run_id=run_id))


def pause(run_id: str) -> Call[pb.Run]:
    return Call("PauseRun", pb.RunRequest(run_id=run_id))


def unpause(run_id: str) -> Call[pb.Run]:
    return Call("UnpauseRun", pb.RunRequest(run_id=run_id))


def get_run(run_id: str, with_events: bool) -> Call[pb.RunDetails]:
    return Call("GetRun", pb.GetRunRequest(run_id=run_id, with_events=with_events))


def list_runs(filters: Mapping[str, Any]) -> Call[pb.ListRunsResponse]:
    return Call("ListRuns", pb.ListRunsRequest(**filters))


def watch_runs(
    run_ids: Iterable[str],
    only_unfinished: bool,
    without_snapshot: bool,
    timeout_s: float | None,
) -> Stream[pb.RunUpdate]:
    request = pb.WatchRunsRequest(
        run_ids=list(run_ids), only_unfinished=only_unfinished, without_snapshot=without_snapshot
    )
    return Stream("WatchRuns", request, timeout_s)


def archive(run_id: str, undo: bool) -> Call[pb.Run]:
    return Call("ArchiveRun", pb.ArchiveRunRequest(run_id=run_id, undo=undo))


def export(run_id: str, with_checkpoints: bool) -> Stream[pb.FileChunk]:
    request = pb.ExportRunRequest(run_id=run_id, with_checkpoints=with_checkpoints)
    return Stream("ExportRun", request)


def chunks(data: Iterable[bytes], name: str) -> Iterator[pb.FileChunk]:
    return (pb.FileChunk(name=name, data=piece) for piece in data)


def delete(run_id: str, purge: bool) -> Call[pb.Run]:
    return Call("DeleteRun", pb.DeleteRunRequest(run_id=run_id, purge=purge), FILES_S)


def restore(run_id: str) -> Call[pb.Run]:
    return Call("RestoreRun", pb.RunRequest(run_id=run_id), FILES_S)


def metrics(
    run_id: str, tags: Iterable[str], options: Mapping[str, Any]
) -> Stream[pb.MetricsUpdate]:
    request = pb.StreamMetricsRequest(run_id=run_id, tags=list(tags), **options)
    return Stream("StreamMetrics", request)


def logs(run_id: str, stream: str, lines: int, follow: bool) -> Stream[pb.LogChunk]:
    request = pb.TailLogsRequest(run_id=run_id, stream=stream, lines=lines, follow=follow)
    return Stream("TailLogs", request)


def health() -> Call[pb.Health]:
    return Call("GetHealth", pb.GetHealthRequest())


def workers() -> Call[pb.ListWorkersResponse]:
    return Call("ListWorkers", pb.ListWorkersRequest())


def worker_schema(worker: str) -> Call[pb.GetWorkerSchemaResponse]:
    return Call("GetWorkerSchema", pb.GetWorkerSchemaRequest(worker=worker))
