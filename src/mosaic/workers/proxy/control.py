"""The control stream: commands come down, what became of them goes up."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any, TypeAlias

from mosaic.proto import trainer_pb2 as pb
from mosaic.proto.trainer_pb2_grpc import TrainerStub
from mosaic.workers.process_tree import ProcessIdentity
from mosaic.workers.proxy.commands import Commands
from mosaic.workers.proxy.publishing import Publisher
from mosaic.workers.proxy.side_by_side import until_one_ends
from mosaic.workers.proxy.starting import own_identity
from mosaic.workers.proxy.state import WorkerEnd
from mosaic.workers.proxy.worker import Worker

_Outbox: TypeAlias = "asyncio.Queue[pb.ProxyMessage]"


class Control:
    """One stream after the other; the first message of each says how things stand."""

    def __init__(
        self, run_id: str, worker: Worker, commands: Commands, publisher: Publisher
    ) -> None:
        self._run_id = run_id
        self._worker = worker
        self._commands = commands
        self._publisher = publisher
        self.end: WorkerEnd | None = None
        self.is_finished = False

    async def run(self, stub: TrainerStub, metadata: Any) -> None:
        """Obey until the daemon says `finish`, or the stream breaks."""
        call = stub.ControlStream(metadata=metadata)
        # A stream takes one message at a time: all of them go through here.
        outbox: _Outbox = asyncio.Queue()
        outbox.put_nowait(self._message(hello=self._hello()))
        try:
            await until_one_ends(
                self._send(call, outbox),
                self._announce_end(outbox),
                self._receive(call, outbox),
            )
        finally:
            call.cancel()

    async def _receive(self, call: Any, outbox: _Outbox) -> None:
        async for command in call:
            await self._obey(command, outbox)
            if self.is_finished:
                return
        raise ConnectionError("the daemon closed the stream of commands")

    async def _obey(self, command: pb.Command, outbox: _Outbox) -> None:
        kind = command.WhichOneof("command")
        if kind == "finish":
            self.is_finished = True
        elif kind == "cancel":
            self._commands.cancel(command.cancel.grace_s)
        elif kind == "pause":
            refusal = await self._commands.pause()
            answer = {"paused": pb.Empty()} if refusal is None else {"failed": refusal}
            outbox.put_nowait(self._message(**answer))
        elif kind == "unpause":
            await self._commands.unpause()
            outbox.put_nowait(self._message(unpaused=pb.Empty()))
        else:
            outbox.put_nowait(self._message(failed="This proxy does not know the command."))

    async def _announce_end(self, outbox: _Outbox) -> None:
        """Say how the worker ended, once everything it wrote is stored; again on each stream."""
        await self._publisher.drained.wait()
        assert self.end is not None, "a spool is drained after the end"
        outbox.put_nowait(self._message(exited=pb.WorkerExit(**dataclasses.asdict(self.end))))
        await asyncio.Event().wait()  # the stream goes on: the others end it

    async def _send(self, call: Any, outbox: _Outbox) -> None:
        while True:
            await call.write(await outbox.get())

    def _hello(self) -> pb.Hello:
        return pb.Hello(
            proxy=_process(own_identity()),
            worker=_process(self._worker.identity),
            is_paused=self._commands.is_paused,
        )

    def _message(self, **content: Any) -> pb.ProxyMessage:
        return pb.ProxyMessage(run_id=self._run_id, **content)


def _process(identity: ProcessIdentity | None) -> pb.Process | None:
    return None if identity is None else pb.Process(**identity._asdict())
