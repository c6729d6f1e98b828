"""The one tree of user errors, and what each becomes at a process border."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_CONFIG = 2
EXIT_DEPENDENCY = 3
EXIT_DAEMON = 4
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


class Border(NamedTuple):
    """How an error leaves the process: exit code of a command, status of a gRPC call."""

    exit_code: int
    grpc_status: str


BORDERS: dict[str, Border] = {
    "config": Border(EXIT_CONFIG, "INVALID_ARGUMENT"),
    "not_allowed": Border(EXIT_CONFIG, "PERMISSION_DENIED"),
    "not_found": Border(EXIT_CONFIG, "NOT_FOUND"),
    "storage": Border(EXIT_CONFIG, "FAILED_PRECONDITION"),
    "dependency": Border(EXIT_DEPENDENCY, "FAILED_PRECONDITION"),
    "daemon": Border(EXIT_DAEMON, "UNAVAILABLE"),
    "process": Border(EXIT_FAILED, "ABORTED"),
}


class MosaicError(Exception):
    """An error that a user can act on: one line, and where it helps a hint."""

    code = "config"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def exit_code(self) -> int:
        return BORDERS[self.code].exit_code

    @property
    def grpc_status(self) -> str:
        return BORDERS[self.code].grpc_status

    def one_line(self) -> str:
        text = self.message if self.hint is None else f"{self.message} {self.hint}"
        return " ".join(text.split())


class ConfigError(MosaicError):
    """A config, a flag or a value is wrong."""

    code = "config"


class NotAllowed(MosaicError):
    """The operator's settings do not allow it."""

    code = "not_allowed"


class NotFound(MosaicError):
    """A run, a checkpoint or a policy that does not exist."""

    code = "not_found"


class StorageError(MosaicError):
    """A directory cannot be written, or the disk is full."""

    code = "storage"


class DependencyMissing(MosaicError):
    """A package that the run needs is not installed."""

    code = "dependency"


class DaemonUnreachable(MosaicError):
    """The trainer daemon does not answer."""

    code = "daemon"


class ProcessFailed(MosaicError):
    """One of the processes of a run ended before its time, and the run with it."""

    code = "process"


ERROR_TYPES: dict[str, type[MosaicError]] = {
    kind.code: kind
    for kind in (
        ConfigError,
        NotAllowed,
        NotFound,
        StorageError,
        DependencyMissing,
        DaemonUnreachable,
        ProcessFailed,
    )
}


def suggest(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the nearest known name, or an empty string."""
    nearest = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {nearest[0]!r}?" if nearest else ""
