"""Steps and episodes of a run as they are read: stored ones first, then what credits allow."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import grpc

from mosaic.client.errors import as_error
from mosaic.proto import trainer_pb2 as pb


class AsyncFeed:
    """A stream of lines. `grant` asks for more of what comes; `close` ends it."""

    def __init__(self, call: Any, request: pb.StreamRequest, target: str) -> None:
        self._call = call
        self._request = request
        self._target = target
        self._is_closed = False

    async def __aiter__(self) -> AsyncIterator[pb.TelemetryLines]:
        try:
            await self._call.write(self._request)
            if not self._request.follow:
                await self._call.done_writing()
            async for lines in self._call:
                yield lines
        except grpc.aio.AioRpcError as error:
            if not self._is_closed:
                raise as_error(error, error.trailing_metadata(), self._target) from None
        except asyncio.CancelledError:  # of this stream, by `close`, or of its reader
            if not self._is_closed:
                raise
        finally:
            self.close()

    async def grant(self, credits: int) -> None:
        """Allow so many more new lines; of a stream that has ended, nothing happens."""
        if not self._call.done():
            await self._call.write(pb.StreamRequest(credits=credits))

    def close(self) -> None:
        self._is_closed = True
        self._call.cancel()


class Feed:
    """The same for programs without an event loop."""

    def __init__(
        self, method: Callable[..., Any], request: pb.StreamRequest, metadata: Any, target: str
    ) -> None:
        self._target = target
        self._requests: queue.SimpleQueue[pb.StreamRequest | None] = queue.SimpleQueue()
        self._requests.put(request)
        if not request.follow:
            self._requests.put(None)
        self._call = method(iter(self._requests.get, None), metadata=metadata)

    def __iter__(self) -> Iterator[pb.TelemetryLines]:
        try:
            yield from self._call
        except grpc.RpcError as error:
            if not self._call.cancelled():
                raise as_error(error, error.trailing_metadata(), self._target) from None
        finally:
            self.close()

    def grant(self, credits: int) -> None:
        self._requests.put(pb.StreamRequest(credits=credits))

    def close(self) -> None:
        self._requests.put(None)
        self._call.cancel()
