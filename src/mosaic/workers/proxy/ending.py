"""The end of a worker: nothing of it is left running, and how it ended is noted."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path

from mosaic.contracts.events import STDERR_TAIL_LINES
from mosaic.contracts.secrets import mask_secrets
from mosaic.workers.proxy.commands import Commands
from mosaic.workers.proxy.state import WorkerEnd
from mosaic.workers.proxy.worker import Worker

# What ends with its parent, or cleans up behind it, is gone within this time and no leftover.
_SETTLE_S = 0.25
_TICK_S = 0.02
_TAIL_BYTES = 64 << 10
_LINE_CHARACTERS = 2_000


async def end_worker(worker: Worker, commands: Commands, stderr: Path) -> WorkerEnd:
    """Kill what outlived the worker, and return how that ended."""
    settled_at = time.monotonic() + _SETTLE_S
    while worker.processes() and time.monotonic() < settled_at:
        await asyncio.sleep(_TICK_S)
    killed = await commands.kill()
    worker.has_ended()  # waits for those that were just killed
    code = worker.returncode
    return WorkerEnd(
        exit_code=code if code is not None and code >= 0 else None,
        signal=-code if code is not None and code < 0 else None,
        was_seen=code is not None,
        last_lines=_last_lines(stderr, worker.environment),
        killed_leftovers=killed,
    )


def _last_lines(path: Path, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the last lines of the worker's stderr, which go to the database: without secrets."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ()
    lines = mask_secrets(text, environment).splitlines()[-STDERR_TAIL_LINES:]
    return tuple(line[:_LINE_CHARACTERS] for line in lines)
