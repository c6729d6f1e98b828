"""The border of every call: what is raised inside becomes a status that a client understands."""

from __future__ import annotations

import asyncio
import functools
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, NoReturn, TypeVar

import grpc
from grpc import aio

from mosaic.contracts.errors import MosaicError, StorageError
from mosaic.trainer import log

ERROR_KEY = "mosaic-error"

Answer = TypeVar("Answer")
Context = aio.ServicerContext[Any, Any]


def answered(
    call: Callable[[Any, Any, Context], Coroutine[Any, Any, Answer]],
) -> Callable[[Any, Any, Context], Coroutine[Any, Any, Answer]]:
    """Wrap a call with one answer."""

    @functools.wraps(call)
    async def wrapped(self: Any, request: Any, context: Context) -> Answer:
        try:
            # A caller that goes away must not leave half of a change behind.
            return await asyncio.shield(asyncio.ensure_future(call(self, request, context)))
        except Exception as error:  # noqa: BLE001 - the border of the call
            await _abort(context, call.__name__, error)

    return wrapped


def streamed(
    call: Callable[[Any, Any, Context], AsyncIterator[Answer]],
) -> Callable[[Any, Any, Context], AsyncIterator[Answer]]:
    """Wrap a call with a stream of answers."""

    @functools.wraps(call)
    async def wrapped(self: Any, request: Any, context: Context) -> AsyncIterator[Answer]:
        try:
            async for answer in call(self, request, context):
                yield answer
        except Exception as error:  # noqa: BLE001 - the border of the call
            await _abort(context, call.__name__, error)

    return wrapped


async def _abort(context: Context, name: str, error: Exception) -> NoReturn:
    if isinstance(error, aio.AbortError):  # answered already
        raise error
    if isinstance(error, sqlite3.Error | OSError):
        log.say_fault(None, f"{name} failed")
        error = StorageError(f"The store failed: {error}.")
    if isinstance(error, MosaicError):
        status = getattr(grpc.StatusCode, error.grpc_status)
        await context.abort(status, error.one_line(), ((ERROR_KEY, error.code),))
    log.say_fault(None, f"{name} failed")
    text = f"{name} failed: {type(error).__name__}: {error}. The daemon's log has the traceback."
    await context.abort(grpc.StatusCode.INTERNAL, " ".join(text.split()))
