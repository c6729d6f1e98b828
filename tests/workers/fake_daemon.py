"""A trainer daemon of a few dozen lines: keeps what proxies send, and says what it is told to."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc

from mosaic.contracts.paths import VarPaths
from mosaic.contracts.tokens import METADATA_KEY, run_token
from mosaic.proto import trainer_pb2 as pb
from mosaic.proto.trainer_pb2_grpc import TrainerServicer, add_TrainerServicer_to_server
from mosaic.workers.handshake import CHANNEL_OPTIONS

DAEMON_TOKEN = "0" * 64


class FakeDaemon(TrainerServicer):
    """One run's daemon. What it has stored outlives `stop`, as a database would."""

    def __init__(self, var_dir: Path, run_id: str) -> None:
        self.paths = VarPaths(var_dir)
        self.run_id = run_id
        self.paths.trainer.mkdir(parents=True, exist_ok=True)
        self.stored = bytearray()
        self.notes: list[str] = []
        self.batches: list[int] = []
        self.registrations: list[pb.RegisterWorkerRequest] = []
        self.messages: list[pb.ProxyMessage] = []
        self.finishes = True  # answer `exited` with `finish`
        self.delay_s = 0.0  # before each acknowledgement
        self.commands: queue.Queue[pb.Command | None] = queue.Queue()
        self._lock = threading.Lock()
        self._server: grpc.Server | None = None
        self._is_stopping = threading.Event()

    def start(self) -> None:
        self._is_stopping.clear()
        server = grpc.server(futures.ThreadPoolExecutor(8), options=CHANNEL_OPTIONS)
        add_TrainerServicer_to_server(self, server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self.paths.daemon_info.write_text(json.dumps({"pid": 1, "port": port}))
        self._server = server

    def stop(self) -> None:
        """Go away in the middle of whatever is under way."""
        self._is_stopping.set()
        if self._server is not None:
            self._server.stop(grace=None).wait(5)
            self._server = None

    @property
    def lines(self) -> list[bytes]:
        return bytes(self.stored).splitlines()

    def said(self, kind: str) -> list[Any]:
        """Return every message of a kind that the proxies sent."""
        found = [message for message in self.messages if message.WhichOneof("message") == kind]
        return [getattr(message, kind) for message in found]

    def wait_for(self, kind: str, count: int = 1, timeout_s: float = 20.0) -> Any:
        """Return the latest message of a kind, once so many came."""
        wait_until(lambda: len(self.said(kind)) >= count, timeout_s, what=kind)
        return self.said(kind)[-1]

    # The calls of a proxy

    def RegisterWorker(self, request: Any, context: Any) -> Any:  # noqa: N802
        self._check(context)
        self.registrations.append(request)
        return pb.RegisterWorkerResponse(
            accepted_version=request.proto_version,
            session_token="session",
            next_offset=len(self.stored),
        )

    def PublishEvents(self, batches: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        self._check(context)
        for batch in batches:
            with self._lock:
                if self._is_stopping.is_set():
                    return
                self._store(batch)
            time.sleep(self.delay_s)
            yield pb.EventAck(next_offset=len(self.stored))

    def ControlStream(self, messages: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        self._check(context)
        outgoing: queue.Queue[pb.Command | None] = queue.Queue()
        self.commands = outgoing
        reader = threading.Thread(target=self._listen, args=(messages, outgoing), daemon=True)
        reader.start()
        while (command := outgoing.get()) is not None:
            yield command

    def _listen(self, messages: Iterator[Any], outgoing: queue.Queue[pb.Command | None]) -> None:
        try:
            for message in messages:
                self.messages.append(message)
                if message.WhichOneof("message") == "exited" and self.finishes:
                    outgoing.put(pb.Command(finish=pb.Empty()))
        except grpc.RpcError:
            pass
        finally:
            outgoing.put(None)

    def _store(self, batch: Any) -> None:
        assert batch.offset == len(self.stored), "a gap, or sent twice"
        if batch.note:
            self.notes.append(batch.note)
            self.stored += b"-" * (batch.next_offset - batch.offset)
        else:
            assert batch.next_offset - batch.offset == len(batch.data)
            self.stored += batch.data
        self.batches.append(len(batch.data))

    def _check(self, context: Any) -> None:
        given = dict(context.invocation_metadata()).get(METADATA_KEY)
        if given not in (
            f"Bearer {run_token(DAEMON_TOKEN, self.run_id)}",
            f"Bearer {DAEMON_TOKEN}",
        ):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "The token is wrong.")


def wait_until(is_so: Callable[[], Any], timeout_s: float = 20.0, *, what: str = "it") -> None:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline, f"waited {timeout_s} s for {what}"
        time.sleep(0.01)
