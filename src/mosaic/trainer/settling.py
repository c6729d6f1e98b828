"""Ending runs without a proxy's help: what is left is killed, read to its end, and concluded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from mosaic.contracts.paths import RunPaths
from mosaic.trainer import log
from mosaic.trainer.active import ActiveRun
from mosaic.trainer.executors.base import ProxyState
from mosaic.trainer.lifecycle import Exit
from mosaic.trainer.supervisor import Supervisor
from mosaic.workers.process_tree import find_run_processes

_PART_BYTES = 1 << 20
_LINE_LIMIT_BYTES = 32 << 20


def needs_proxy(run: ActiveRun, state: ProxyState | None, files: RunPaths) -> bool:
    """Say whether a proxy would find something to follow, or to start; otherwise it is over."""
    if state is None:  # none ever began
        return True
    if state.worker is not None:
        return state.worker.is_alive()
    if state.phase != "launching":
        return False
    # Killed around the start of its worker: it runs unnoted, or never did.
    is_spool_empty = not files.events.exists() or files.events.stat().st_size == 0
    return is_spool_empty or bool(find_run_processes(run.run_id, None))


async def settle(supervisor: Supervisor, run: ActiveRun) -> None:
    """End a run whose proxy and worker are both gone."""
    executor = supervisor.starter.executor
    async with run.lock:
        if run.run_id not in supervisor.runs:
            return
        state = await asyncio.to_thread(executor.worker_state, run.run_id)
        await asyncio.to_thread(executor.kill, run.run_id)
        await _read_spool(supervisor, run)
        exit = Exit()
        last_lines: tuple[str, ...] = ()
        if state is not None and state.exit is not None:
            exit = Exit(state.exit.exit_code, state.exit.signal)
            last_lines = tuple(state.exit.last_lines)
        await supervisor.conclude(run, exit, last_lines)


async def settle_lost(supervisor: Supervisor, run: ActiveRun, reason: str) -> None:
    """End a run that cannot be reached any more, as FAULTED."""
    executor = supervisor.starter.executor
    async with run.lock:
        if run.run_id not in supervisor.runs:
            return
        killed = await asyncio.to_thread(executor.kill, run.run_id)
        log.say("swept", run.run_id, f"{killed} processes of a lost run were killed")
        await _read_spool(supervisor, run)
        await supervisor.lost(run, reason)


async def _read_spool(supervisor: Supervisor, run: ActiveRun) -> None:
    paths: RunPaths = supervisor.starter.executor.files(run.run_id, run.record.mode)
    for data, offset in _parts(paths.events, run.offset):
        await supervisor.take_spool(run, data, offset, offset + len(data))


def _parts(path: Path, offset: int) -> Iterator[tuple[bytes, int]]:
    """Yield whole lines from the offset to the end; the last one may lack its newline."""
    try:
        file = path.open("rb")
    except OSError:  # nothing was ever written
        return
    with file:
        file.seek(offset)
        rest = b""
        while part := file.read(_PART_BYTES):
            rest += part
            end = rest.rfind(b"\n") + 1
            if end == 0 and len(rest) < _LINE_LIMIT_BYTES:
                continue
            end = end or len(rest)
            yield rest[:end], offset
            offset, rest = offset + end, rest[end:]
        if rest:
            yield rest, offset
