"""Why an algorithm process failed: its exit, and the end of its error log."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ERROR_TYPES, ConfigError, MosaicError
from mosaic.contracts.events import STDERR_TAIL_LINES
from mosaic.workers.processes import describe_exit

_TAIL_BYTES = 64 << 10
_LINE_CHARACTERS = 2_000

# The last line of a traceback: "ValueError: text", "torch.OutOfMemoryError: text".
_RAISED = re.compile(r"(?P<type>[A-Za-z_][\w.]*)(?:: (?P<text>.*))?")


def failed_payload(
    error: str,
    error_type: str,
    return_code: int,
    *,
    stderr_log: str | None = None,
    stderr_tail: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the payload of `run_failed`."""
    return {
        "error": error,
        "error_type": error_type,
        "return_code": return_code,
        "stderr_log": stderr_log,
        "stderr_tail": list(stderr_tail),
    }


def rejection(message: Mapping[str, Any]) -> MosaicError:
    """Return the error that an algorithm process refused its config with."""
    kind = ERROR_TYPES.get(str(message.get("code")), ConfigError)
    return kind(str(message.get("message")))


def explain(returncode: int, stderr_tail: Sequence[str]) -> tuple[str, str]:
    """Return the error and its type."""
    if returncode < 0:
        cause = " Out of memory is the usual cause." if returncode == -9 else ""
        return f"The algorithm process was {describe_exit(returncode)}.{cause}", "Signal"
    raised = _last_exception(stderr_tail)
    if raised is not None:
        return raised
    if returncode == 0:
        return "The algorithm process ended before it had finished.", "Unfinished"
    return f"The algorithm process {describe_exit(returncode)}.", "ExitCode"


def _last_exception(stderr_tail: Sequence[str]) -> tuple[str, str] | None:
    """Find the exception that a traceback ends with; a message may go on over several lines."""
    for index in range(len(stderr_tail) - 1, 0, -1):
        match = _RAISED.fullmatch(stderr_tail[index])
        # The line above is the last frame's code, which is indented.
        if match and stderr_tail[index - 1].startswith("  "):
            return stderr_tail[index], match["type"].rpartition(".")[2]
    return None


def tail(path: Path, lines: int = STDERR_TAIL_LINES) -> list[str]:
    """Return the last lines of a log, of which only the end is read."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    return [line[:_LINE_CHARACTERS] for line in deque(text.splitlines(), maxlen=lines)]
