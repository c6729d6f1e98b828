"""Telling the trainer daemon of this worker, with `--grpc`."""

from __future__ import annotations

import logging
import os

from cleanrl_worker import get_worker_metadata
from cleanrl_worker.config import CleanRLWorkerConfig
from mosaic.contracts.paths import VarPaths
from mosaic.workers.daemon_address import find_target
from mosaic.workers.handshake import PROTO_VERSION, find_token, register, require_grpc
from mosaic.workers.process_tree import identify

_LOG = logging.getLogger(__name__)

_ID_CHARACTERS = 8  # of the run's id in the name of a worker that was given none


def register_worker(config: CleanRLWorkerConfig, paths: VarPaths, target: str | None) -> None:
    """Register the worker of this config; a daemon that cannot be reached is a MosaicError."""
    require_grpc()
    from mosaic.proto.trainer_pb2 import Process, RegisterWorkerRequest

    worker = get_worker_metadata()
    fields = {
        "schema_id": f"{worker.worker_type}.{config.algo}",
        "schema_version": 1,
        "supports_pause": worker.supports_pause,
        "supports_checkpoint": worker.supports_checkpointing,
    }
    options = config.options
    given = {name: options[name] for name in fields if options.get(name) is not None}
    process = identify(os.getpid())
    request = RegisterWorkerRequest(
        run_id=config.run_id,
        worker_id=config.worker_id or f"cleanrl-worker-{config.run_id[:_ID_CHARACTERS]}",
        worker_kind=worker.worker_type,
        proto_version=PROTO_VERSION,
        process=None if process is None else Process(**process._asdict()),
        mode=config.mode,
        **{**fields, **given},
    )
    address = find_target(paths, target)
    response = register(address, find_token(paths), request)
    _LOG.info("registered with the daemon at %s: %s", address, response.accepted_version)
