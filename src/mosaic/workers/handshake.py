"""The worker's handshake: it tells the daemon who it is before it starts its algorithm."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from mosaic.contracts.errors import (
    ERROR_TYPES,
    DaemonUnreachable,
    DependencyMissing,
    MosaicError,
    NotAllowed,
)
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.tokens import RUN_TOKEN_VARIABLE, as_metadata, read_token

if TYPE_CHECKING:
    import grpc

    from mosaic.proto.trainer_pb2 import RegisterWorkerRequest, RegisterWorkerResponse

PROTO_VERSION = "MOSAIC/1.0"
ERROR_KEY = "mosaic-error"

_MESSAGE_BYTES = 64 << 20
CHANNEL_OPTIONS = (
    ("grpc.max_send_message_length", _MESSAGE_BYTES),
    ("grpc.max_receive_message_length", _MESSAGE_BYTES),
    # gRPC follows http_proxy even to this machine itself.
    ("grpc.enable_http_proxy", 0),
    # A channel of its own does not inherit the patience of one that failed before it.
    ("grpc.use_local_subchannel_pool", 1),
)

_TIMEOUT_S = 5.0
_UNREACHABLE = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED"})
_REFUSED = frozenset({"UNAUTHENTICATED", "PERMISSION_DENIED"})


def require_grpc() -> None:
    """Refuse to go on where gRPC is not installed; it is an extra."""
    if find_spec("grpc") is None:
        raise DependencyMissing(
            "--grpc needs the package grpcio.", hint="Install the extra 'trainer'."
        )


def find_token(paths: VarPaths) -> str:
    """Return the run's token, or the user's own if this worker was started by hand."""
    token = os.environ.get(RUN_TOKEN_VARIABLE) or read_token(paths.daemon_token)
    if token is None:
        raise DaemonUnreachable(
            f"There is no token of a trainer daemon: {str(paths.daemon_token)!r} does not exist.",
            hint="Start the daemon with `mosaic daemon start`, or leave --grpc out.",
        )
    return token


def register(
    target: str, token: str, request: RegisterWorkerRequest, *, timeout_s: float = _TIMEOUT_S
) -> RegisterWorkerResponse:
    """Register a worker; what keeps it from that is a MosaicError."""
    import grpc

    from mosaic.proto.trainer_pb2_grpc import TrainerStub

    with grpc.insecure_channel(target, options=CHANNEL_OPTIONS) as channel:
        try:
            response: RegisterWorkerResponse = TrainerStub(channel).RegisterWorker(
                request, metadata=(as_metadata(token),), timeout=timeout_s
            )
        except grpc.RpcError as error:
            raise _as_mosaic_error(error, target) from None
    return response


def _as_mosaic_error(error: grpc.RpcError, target: str) -> MosaicError:
    """Return the daemon's own error, or say that there is no daemon."""
    status, details = error.code().name, error.details() or ""
    trailing = error.trailing_metadata() or ()
    codes = [str(datum.value) for datum in trailing if datum.key == ERROR_KEY]
    kind = ERROR_TYPES.get(codes[0]) if codes else None
    if kind is not None:
        return kind(details)
    if status in _UNREACHABLE:
        return DaemonUnreachable(
            f"The trainer daemon at {target} cannot be reached: {details}.",
            hint="Start it with `mosaic daemon start`, or leave --grpc out.",
        )
    if status in _REFUSED:
        return NotAllowed(f"The trainer daemon at {target} refused this worker: {details}.")
    return DaemonUnreachable(f"The trainer daemon at {target} answered {status}: {details}.")
