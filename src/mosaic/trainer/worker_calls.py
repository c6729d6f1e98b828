"""The calls of workers and their proxies: each may touch its own run alone."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

from mosaic.contracts.errors import ConfigError, MosaicError
from mosaic.contracts.states import RunState
from mosaic.proto import trainer_pb2 as pb
from mosaic.trainer import log
from mosaic.trainer.active import ProxyLink
from mosaic.trainer.answers import Context, answered, streamed
from mosaic.trainer.auth import Tokens, token_of
from mosaic.trainer.guests import Guests
from mosaic.trainer.supervisor import Supervisor

PROTOCOL = "MOSAIC/1.0"

T = TypeVar("T")


async def _whole(work: Coroutine[Any, Any, T]) -> T:
    """Finish what was begun, though the proxy that sent it goes away in between."""
    return await asyncio.shield(asyncio.ensure_future(work))


class WorkerCalls:
    """Half of the service: registration, signs of life, control and events."""

    def __init__(self, supervisor: Supervisor, guests: Guests, tokens: Tokens) -> None:
        self._supervisor = supervisor
        self._guests = guests
        self._tokens = tokens

    @answered
    async def RegisterWorker(  # noqa: N802 - the protocol's name
        self, request: pb.RegisterWorkerRequest, context: Context
    ) -> pb.RegisterWorkerResponse:
        await self._tokens.check_run(context, request.run_id)
        if request.proto_version != PROTOCOL:
            raise ConfigError(
                f"proto_version={request.proto_version!r} is not allowed: this daemon speaks "
                f"{PROTOCOL!r}."
            )
        if request.run_id not in self._supervisor.runs:
            await self._admit(request, context)
        offset = await self._supervisor.was_registered(request.run_id, request.worker_id)
        return pb.RegisterWorkerResponse(
            accepted_version=PROTOCOL,
            session_token=self._tokens.of_run(request.run_id),
            next_offset=offset,
        )

    async def _admit(self, request: pb.RegisterWorkerRequest, context: Context) -> None:
        """Take in a worker that a user started; the token of a run makes no new one."""
        token = token_of(context.invocation_metadata() or ())
        if self._tokens.is_user(token) and not await self._guests.is_known(request.run_id):
            await self._guests.admit(request, self._tokens.of_run(request.run_id))

    @answered
    async def Heartbeat(  # noqa: N802
        self, request: pb.HeartbeatRequest, context: Context
    ) -> pb.HeartbeatResponse:
        await self._tokens.check_run(context, request.run_id)
        run = self._supervisor.runs.get(request.run_id)
        if run is None:
            record = await self._supervisor.journal.find(request.run_id)
            return pb.HeartbeatResponse(state=record.state)
        run.was_heard()
        return pb.HeartbeatResponse(state=run.record.state)

    @streamed
    async def PublishEvents(  # noqa: N802
        self, request: AsyncIterator[pb.EventBatch], context: Context
    ) -> AsyncIterator[pb.EventAck]:
        checked = None
        async for batch in request:
            if batch.run_id != checked:
                await self._tokens.check_run(context, batch.run_id)
                checked = batch.run_id
            stored = await _whole(self._supervisor.publish(batch))
            yield pb.EventAck(next_offset=stored)

    @streamed
    async def ControlStream(  # noqa: N802
        self, request: AsyncIterator[pb.ProxyMessage], context: Context
    ) -> AsyncIterator[pb.Command]:
        first = await anext(aiter(request), None)
        if first is None or not first.HasField("hello"):
            raise ConfigError("A control stream begins with 'hello'.")
        await self._tokens.check_run(context, first.run_id)
        link = self._supervisor.attach(first.run_id)
        reader = asyncio.create_task(self._listen(first, request, link))
        try:
            while (command := await link.commands.get()) is not None:
                yield command
        finally:
            reader.cancel()
            self._supervisor.detach(first.run_id, link)

    async def _listen(
        self, first: pb.ProxyMessage, request: AsyncIterator[pb.ProxyMessage], link: ProxyLink
    ) -> None:
        try:
            await self._agree_on_pause(first.run_id, first.hello)
            async for message in request:
                await _whole(self._take(first.run_id, message, link))
        except (MosaicError, OSError, sqlite3.Error):
            log.say_fault(first.run_id, "a message of the proxy could not be taken")
        finally:
            link.close()  # the proxy comes again, and says it again

    async def _take(self, run_id: str, message: pb.ProxyMessage, link: ProxyLink) -> None:
        kind = message.WhichOneof("message")
        if kind in ("paused", "unpaused"):
            link.answered(kind)
        elif kind == "failed":
            link.failed(message.failed)
        elif kind == "exited":
            await self._supervisor.exited(run_id, message.exited)

    async def _agree_on_pause(self, run_id: str, hello: pb.Hello) -> None:
        """Believe the proxy: a daemon that died in between may not have noted it."""
        run = self._supervisor.runs.get(run_id)
        if run is None:
            return
        is_paused = run.record.state is RunState.PAUSED
        if hello.is_paused and not is_paused:
            await self._supervisor.was_paused(run)
        elif is_paused and not hello.is_paused:
            await self._supervisor.was_unpaused(run)
