"""The connection to the daemon: made again and again, from where the daemon says it stands."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc

from mosaic.contracts.paths import VarPaths
from mosaic.contracts.tokens import RUN_TOKEN_VARIABLE, as_metadata
from mosaic.proto import trainer_pb2 as pb
from mosaic.proto.trainer_pb2_grpc import TrainerStub
from mosaic.workers.daemon_address import find_target
from mosaic.workers.handshake import CHANNEL_OPTIONS, PROTO_VERSION
from mosaic.workers.proxy.commands import Commands
from mosaic.workers.proxy.control import Control
from mosaic.workers.proxy.launch import Launch
from mosaic.workers.proxy.publishing import Publisher
from mosaic.workers.proxy.side_by_side import until_one_ends
from mosaic.workers.proxy.spool import Spool
from mosaic.workers.proxy.state import WorkerEnd
from mosaic.workers.proxy.worker import Worker

_LOG = logging.getLogger(__name__)

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 2.0
_REGISTER_TIMEOUT_S = 10.0


class Link:
    """Keeps one connection; ends when the daemon has said `finish`."""

    def __init__(self, launch: Launch, worker: Worker, commands: Commands) -> None:
        self._launch = launch
        self._publisher = Publisher(launch.run_id, Spool(launch.events))
        self._control = Control(launch.run_id, worker, commands, self._publisher)
        self._metadata = (as_metadata(os.environ.get(RUN_TOKEN_VARIABLE, "")),)
        self._complaint = ""
        self.is_connected = False
        self.last_contact = 0.0  # of the monotonic clock

    def report(self, end: WorkerEnd) -> None:
        """Tell the daemon of the end as soon as it has every event."""
        self._control.end = end
        self._publisher.close_spool()

    async def run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while True:
            started_at = time.monotonic()
            try:
                await self._connect_once()
            except (grpc.RpcError, ConnectionError) as error:
                self._complain(error)
            finally:
                self.is_connected = False
            if self._control.is_finished:
                return
            if time.monotonic() - started_at > _LONGEST_PAUSE_S:
                pause_s = _FIRST_PAUSE_S  # that connection was one
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _connect_once(self) -> None:
        async with self._open() as stub:
            await until_one_ends(self._register(stub))
            self.is_connected, self.last_contact = True, time.monotonic()
            try:
                await until_one_ends(
                    self._publisher.run(stub, self._metadata),
                    self._control.run(stub, self._metadata),
                )
            finally:
                self.last_contact = time.monotonic()

    async def _register(self, stub: TrainerStub) -> None:
        request = pb.RegisterWorkerRequest(
            run_id=self._launch.run_id, proto_version=PROTO_VERSION, **self._launch.registration
        )
        response = await stub.RegisterWorker(
            request, metadata=self._metadata, timeout=_REGISTER_TIMEOUT_S
        )
        _LOG.info("connected; the daemon has the first %d bytes", response.next_offset)
        self._complaint = ""
        self._publisher.restart_at(response.next_offset)

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[TrainerStub]:
        # The port is looked up each time: a daemon that was started again may have another.
        target = find_target(VarPaths(self._launch.var_dir))
        async with grpc.aio.insecure_channel(target, options=CHANNEL_OPTIONS) as channel:
            yield TrainerStub(channel)

    def _complain(self, error: grpc.RpcError | ConnectionError) -> None:
        """Log why there is no connection; once, however long that lasts."""
        text = str(error)
        if isinstance(error, grpc.aio.AioRpcError):
            text = f"{error.code().name}: {error.details()}"
        if text != self._complaint:
            _LOG.warning("no connection to the daemon: %s", text)
        self._complaint = text
