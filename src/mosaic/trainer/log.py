"""The daemon's log: one line an event, by the names of one catalogue."""

from __future__ import annotations

import logging
import time
from logging.handlers import RotatingFileHandler
from pathlib import Path

# Every name that a line can carry, and what it says.
CATALOGUE = {
    "daemon_started": "the daemon answers",
    "daemon_stopped": "the daemon ends; runs go on",
    "recovered": "what was found of a run after a restart",
    "run_submitted": "a run was accepted",
    "run_refused": "a submission was refused",
    "run_launched": "resources were reserved and the proxy was started",
    "run_state": "a run changed its state",
    "run_ended": "a run ended, and why",
    "run_imported": "a run came as an archive",
    "run_resumed": "a crashed run goes on as a new one",
    "proxy_restarted": "the proxy of a living run was started again",
    "worker_garbage": "a worker printed something that is no event",
    "spool_skipped": "a part of a spool was left out",
    "swept": "something old was removed",
    "internal_error": "a fault of the daemon's own, with its traceback",
}

_SIZE_BYTES = 20 << 20
_KEPT = 3

_logger = logging.getLogger("mosaic.trainer")


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        name = getattr(record, "event_name", "internal_error")
        run_id = getattr(record, "run_id", None) or "-"
        text = " ".join(record.getMessage().splitlines())
        line = f"{stamp}.{int(record.msecs):03d}Z {record.levelname} {name} {run_id} {text}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


def open_log(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = RotatingFileHandler(path, maxBytes=_SIZE_BYTES, backupCount=_KEPT, encoding="utf-8")
    handler.setFormatter(_Formatter())
    for name in ("mosaic", "grpc", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(logging.INFO if name == "mosaic" else logging.WARNING)


def say(name: str, run_id: str | None, text: str, *, level: int = logging.INFO) -> None:
    """Write a line of the catalogue."""
    assert name in CATALOGUE, name
    _logger.log(level, "%s", text, extra={"event_name": name, "run_id": run_id})


def say_fault(run_id: str | None, text: str) -> None:
    """Write the exception that is being handled, with its traceback."""
    _logger.exception("%s", text, extra={"event_name": "internal_error", "run_id": run_id})
