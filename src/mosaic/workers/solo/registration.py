"""Telling the trainer daemon of this worker, with `--grpc`."""

from __future__ import annotations

import os

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.paths import VarPaths
from mosaic.workers.daemon_address import find_target
from mosaic.workers.handshake import PROTO_VERSION, find_token, register, require_grpc
from mosaic.workers.process_tree import identify
from mosaic.workers.solo.settings import RunSettings


def register_worker(
    worker: WorkerCapabilities, settings: RunSettings, paths: VarPaths, target: str | None
) -> None:
    """Register the worker of this run; a daemon that cannot be reached is a MosaicError."""
    require_grpc()
    from mosaic.proto.trainer_pb2 import Process, RegisterWorkerRequest

    fields = {
        "schema_id": f"{worker.worker_type}.{settings.algo}",
        "schema_version": 1,
        "supports_pause": worker.supports_pause,
        "supports_checkpoint": worker.supports_checkpointing,
    }
    given = {
        name: settings.options[name] for name in fields if settings.options.get(name) is not None
    }
    process = identify(os.getpid())
    request = RegisterWorkerRequest(
        run_id=settings.run_id,
        worker_id=settings.worker_id,
        worker_kind=worker.worker_type,
        proto_version=PROTO_VERSION,
        process=None if process is None else Process(**process._asdict()),
        mode=settings.mode,
        **{**fields, **given},
    )
    register(find_target(paths, target), find_token(paths), request)
