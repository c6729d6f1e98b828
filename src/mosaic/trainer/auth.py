"""Who is calling: every call carries a token, the daemon's or that of the run it is about."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from grpc import aio

from mosaic.contracts.tokens import METADATA_KEY, run_token

# What a run's own token opens, for that run alone; each of these checks whose it is.
WORKER_CALLS = frozenset({"RegisterWorker", "Heartbeat", "ControlStream", "PublishEvents"})

_MISSING = (
    "The call carries no token: give 'authorization: Bearer TOKEN' with the token of "
    "trainer/daemon.token in the data directory."
)
_WRONG = "The token is not this daemon's: it is in trainer/daemon.token of its data directory."


class Tokens:
    """The tokens that this daemon accepts."""

    def __init__(self, daemon_token: str) -> None:
        self._token = daemon_token

    def is_user(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._token.encode())

    def of_run(self, run_id: str) -> str:
        return run_token(self._token, run_id)

    async def check_run(self, context: aio.ServicerContext[Any, Any], run_id: str) -> None:
        """Refuse a worker's token that belongs to another run."""
        token = token_of(context.invocation_metadata() or ())
        if self.is_user(token):
            return
        if not hmac.compare_digest(token.encode(), self.of_run(run_id).encode()):
            await context.abort(
                grpc.StatusCode.PERMISSION_DENIED, f"The token does not open the run {run_id!r}."
            )


def token_of(metadata: Any) -> str:
    """Return the token of a call, or an empty text."""
    for key, value in metadata:
        if key == METADATA_KEY and isinstance(value, str):
            return value.removeprefix("Bearer ").strip()
    return ""


class TokenInterceptor(aio.ServerInterceptor):
    """Turn a call without a token away before anything of it is read."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        token = token_of(handler_call_details.invocation_metadata or ())
        if self._tokens.is_user(token):
            return await continuation(handler_call_details)
        name = handler_call_details.method.rsplit("/", 1)[-1]
        if token and name in WORKER_CALLS:
            return await continuation(handler_call_details)
        return _refusal(await continuation(handler_call_details), _WRONG if token else _MISSING)


def _refusal(handler: Any, text: str) -> Any:
    """Return a handler of the same shape that answers UNAUTHENTICATED."""
    if handler is None:  # a call that does not exist is answered as such
        return None

    async def refuse(_: Any, context: aio.ServicerContext[Any, Any]) -> None:
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, text)

    async def refuse_stream(_: Any, context: aio.ServicerContext[Any, Any]) -> Any:
        yield await context.abort(grpc.StatusCode.UNAUTHENTICATED, text)

    makers = {
        (False, False): (grpc.unary_unary_rpc_method_handler, refuse),
        (False, True): (grpc.unary_stream_rpc_method_handler, refuse_stream),
        (True, False): (grpc.stream_unary_rpc_method_handler, refuse),
        (True, True): (grpc.stream_stream_rpc_method_handler, refuse_stream),
    }
    make, behaviour = makers[handler.request_streaming, handler.response_streaming]
    return make(behaviour, handler.request_deserializer, handler.response_serializer)
