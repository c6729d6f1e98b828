"""Sending the spool: whole lines, in order, each again until the daemon has stored it."""

from __future__ import annotations

import asyncio
from typing import Any

from mosaic.proto import trainer_pb2 as pb
from mosaic.proto.trainer_pb2_grpc import TrainerStub
from mosaic.workers.proxy.side_by_side import until_one_ends
from mosaic.workers.proxy.spool import BATCH_BYTES, Batch, Spool

_WINDOW_BYTES = 8 * BATCH_BYTES  # sent, and not acknowledged yet
# A spool that grows slowly is sent in small batches, but not in one for each line.
_SMALL_BYTES = BATCH_BYTES // 16
_POLL_S = 0.05


class Publisher:
    """Sends from where the daemon stands.

    `drained` is set once the worker has ended and everything it wrote is stored.
    """

    def __init__(self, run_id: str, spool: Spool) -> None:
        self._run_id = run_id
        self._spool = spool
        self._position = 0
        self._room = asyncio.Event()
        self._acknowledged = 0  # the first byte that the daemon has not stored
        self.drained = asyncio.Event()

    def close_spool(self) -> None:
        """Take what the spool holds for all there is."""
        self._spool.close_at_end()
        self._check_drained()

    def restart_at(self, offset: int) -> None:
        """Go on from where a daemon stands; it may have lost what an earlier one had stored."""
        self._position = self._acknowledged = offset
        self.drained.clear()
        self._check_drained()

    def _check_drained(self) -> None:
        if self._spool.end is not None and self._acknowledged >= self._spool.end:
            self.drained.set()

    async def run(self, stub: TrainerStub, metadata: Any) -> None:
        """Publish until the stream breaks."""
        call = stub.PublishEvents(metadata=metadata)
        try:
            await until_one_ends(self._send(call), self._receive(call))
        finally:
            call.cancel()

    async def _receive(self, call: Any) -> None:
        async for ack in call:
            self._acknowledged = max(self._acknowledged, ack.next_offset)
            self._room.set()
            self._check_drained()
        raise ConnectionError("the daemon closed the stream of events")

    async def _send(self, call: Any) -> None:
        while True:
            batch = self._spool.read(self._position)
            if batch is not None:
                await self._wait_for_room(batch)
                await call.write(_message(self._run_id, batch))
                self._position = batch.next_offset
            if batch is None or (len(batch.data) < _SMALL_BYTES and self._spool.end is None):
                await asyncio.sleep(_POLL_S)

    async def _wait_for_room(self, batch: Batch) -> None:
        """Wait for acknowledgements; one batch may always be under way, however long its line."""
        while (
            self._position > self._acknowledged
            and batch.next_offset - self._acknowledged > _WINDOW_BYTES
        ):
            self._room.clear()
            await self._room.wait()


def _message(run_id: str, batch: Batch) -> pb.EventBatch:
    return pb.EventBatch(
        run_id=run_id,
        offset=batch.offset,
        next_offset=batch.next_offset,
        data=batch.data,
        note=batch.note,
    )
