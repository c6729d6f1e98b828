"""What a failed call means to its user."""

from __future__ import annotations

from typing import Any, Protocol

import grpc

from mosaic.client.calls import Stream
from mosaic.client.faults import DaemonFault
from mosaic.client.starting import no_answer
from mosaic.contracts.errors import (
    ERROR_TYPES,
    ConfigError,
    DaemonUnreachable,
    MosaicError,
    NotAllowed,
)

ERROR_KEY = "mosaic-error"


class FailedCall(Protocol):
    """What the errors of blocking and of asynchronous calls have in common."""

    def code(self) -> grpc.StatusCode: ...

    def details(self) -> str | None: ...


def as_error(call: FailedCall, trailing: object, target: str) -> MosaicError | DaemonFault:
    """Return the error that the daemon raised, or what the lack of an answer means."""
    details = " ".join((call.details() or "").split())
    told = _error_code(trailing)
    if told in ERROR_TYPES:
        return ERROR_TYPES[told](details)
    status = call.code()
    # A daemon that ends cancels what it was doing for others.
    if status in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
        return no_answer(target)
    if status is grpc.StatusCode.DEADLINE_EXCEEDED:
        return DaemonUnreachable(f"The trainer daemon at {target} did not answer in time.")
    if status is grpc.StatusCode.UNAUTHENTICATED:
        return NotAllowed(
            f"The trainer daemon at {target} refused the token of this data directory.",
            hint="Set MOSAIC_VAR_DIR to the daemon's.",
        )
    if status is grpc.StatusCode.UNIMPLEMENTED:
        return ConfigError(f"The trainer daemon at {target} does not know this call: {details}.")
    if status is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return ConfigError(f"The message is too large for the daemon: {details}.")
    return DaemonFault(f"{status.name}: {details}")


def is_time_over(call: FailedCall, stream: Stream[Any]) -> bool:
    """Say whether a stream ended because it was to end after so long."""
    return call.code() is grpc.StatusCode.DEADLINE_EXCEEDED and stream.timeout_s is not None


def _error_code(trailing: object) -> str | None:
    for key, value in trailing if isinstance(trailing, tuple | list | grpc.aio.Metadata) else ():
        if key == ERROR_KEY:
            return value if isinstance(value, str) else None
    return None
