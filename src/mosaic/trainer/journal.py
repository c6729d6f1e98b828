"""What happens to runs, written down: the only place where the daemon changes the store."""

from __future__ import annotations

import asyncio
import functools
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from mosaic.contracts.errors import MosaicError, NotFound
from mosaic.trainer import log
from mosaic.trainer.active import ActiveRun
from mosaic.trainer.bus import RunBus
from mosaic.trainer.ingest import Decoded
from mosaic.trainer.lifecycle import Sign, after
from mosaic.trainer.store import events, metrics, recordings, runs
from mosaic.trainer.store.events import StoredEvent
from mosaic.trainer.store.runs import RunRecord
from mosaic.trainer.store.store import Store

# Progress of a run (its step, its rate) is written so often at most; its state always at once.
SAVE_INTERVAL_S = 1.0

T = TypeVar("T")


class Journal:
    """The store as the supervisor sees it. A change that is returned from is on disk."""

    def __init__(self, store: Store, bus: RunBus) -> None:
        self.store = store
        self._bus = bus

    async def read(self, work: Callable[[Any], T]) -> T:
        return await asyncio.wrap_future(self.store.runs.read(work))

    async def find(self, prefix: str) -> RunRecord:
        """Return the run of this id or unambiguous prefix."""
        return await self.read(lambda connection: runs.find(connection, prefix))

    async def insert(self, record: RunRecord) -> RunRecord:
        """Store a new run, or return the one that has its idempotency key."""
        key = record.idempotency_key

        def work(connection: Any) -> RunRecord:
            before = runs.by_idempotency_key(connection, key) if key else None
            if before is not None:
                return before
            runs.insert(connection, record)
            return record

        stored = await asyncio.wrap_future(self.store.runs.write(work))
        self._bus.publish(stored)
        return stored

    async def change(self, run: ActiveRun, **changes: Any) -> RunRecord:
        """Change an unfinished run, whatever is unsaved of it included."""
        changes = {**run.unsaved, **changes}
        run.unsaved = {}
        before = run.record
        run.record = await self.change_record(before.run_id, **changes)
        if run.record.state is not before.state:
            text = f"{before.state} -> {run.record.state}"
            log.say("run_state", run.run_id, text, level=logging.INFO)
        return run.record

    async def change_record(self, run_id: str, **changes: Any) -> RunRecord:
        record = await asyncio.wrap_future(
            self.store.runs.write(lambda connection: runs.update(connection, run_id, **changes))
        )
        self._bus.publish(record)
        return record

    async def sign(self, run: ActiveRun, sign: Sign, **changes: Any) -> bool:
        """Move the run as the sign says; False where it says nothing new."""
        state = after(run.record.state, sign)
        if state is run.record.state:
            return False
        await self.change(run, state=state, **changes)
        return True

    async def append(self, run: ActiveRun, decoded: Decoded, next_offset: int) -> None:
        """Store what a part of the spool says; from then on it is acknowledged."""
        run_id = run.run_id
        writes: list[Awaitable[Any]] = []
        if decoded.has_telemetry:
            work = functools.partial(_write_telemetry, run_id, decoded, next_offset)
            writes.append(asyncio.wrap_future(self.store.telemetry.write(work)))
        if decoded.events:
            writes.append(self._write_with_progress(run, decoded.events, next_offset))
        results: list[Any] = await asyncio.gather(*writes, return_exceptions=True)
        faults = [result for result in results if isinstance(result, BaseException)]
        if faults:  # one of the two may have been written: see which, before it is sent again
            await self._read_offsets(run)
            raise faults[0]
        # After a restart the two may differ, and lines that one of them has come again.
        run.events_offset = max(run.events_offset, next_offset)
        run.points_offset = max(run.points_offset, next_offset)
        run.offset = next_offset
        if decoded.has_telemetry:
            run.saved_points_offset = next_offset
            self._publish_telemetry(run_id, decoded, results[0])
        run.saved_events_offset = next_offset if decoded.events else run.saved_events_offset

    def _publish_telemetry(
        self, run_id: str, decoded: Decoded, before: recordings.Recording | None
    ) -> None:
        self._bus.publish_points(run_id, decoded.points)
        if before is not None:
            self._bus.publish_steps(run_id, before.steps, decoded.step_lines)
            self._bus.publish_episodes(run_id, before.episodes, decoded.episode_lines)

    async def _write_with_progress(
        self, run: ActiveRun, rows: list[StoredEvent], next_offset: int
    ) -> None:
        """Store events together with the progress that was read before them.

        Behind the offset nothing is read again: what is known by then must be written with it.
        """
        run_id, changes = run.run_id, run.unsaved
        run.unsaved = {}

        def work(connection: sqlite3.Connection) -> RunRecord | None:
            events.append(connection, run_id, rows, next_offset)
            return runs.update(connection, run_id, **changes) if changes else None

        try:
            record = await asyncio.wrap_future(self.store.runs.write(work))
        except (MosaicError, sqlite3.Error):
            run.unsaved = {**changes, **run.unsaved}
            raise
        if record is not None:
            run.record = record
            self._bus.publish(record)

    async def save(self, run: ActiveRun) -> None:
        """Write the progress of a run, and how far its spool was read."""
        run.saved_at = time.monotonic()
        run_id, offset = run.run_id, run.offset
        if run.unsaved or run.saved_events_offset < offset:
            run.saved_events_offset = offset
            await self._write_with_progress(run, [], offset)
        if run.saved_points_offset < offset:
            run.saved_points_offset = offset
            self.store.telemetry.write(
                lambda connection: metrics.append(connection, run_id, [], offset)
            )

    async def load(self, record: RunRecord) -> ActiveRun:
        """Return an unfinished run as it was left."""
        run = ActiveRun(record)
        await self._read_offsets(run)
        return run

    async def _read_offsets(self, run: ActiveRun) -> None:
        run_id = run.run_id
        run.events_offset = await self.read(lambda c: events.offset(c, run_id))
        run.points_offset = await asyncio.wrap_future(
            self.store.telemetry.read(lambda c: metrics.offset(c, run_id))
        )
        run.saved_events_offset, run.saved_points_offset = run.events_offset, run.points_offset
        run.offset = min(run.events_offset, run.points_offset)

    async def event_lines(self, run_id: str, limit: int = 1000) -> list[str]:
        return await self.read(lambda connection: events.lines(connection, run_id, limit))

    async def remove(self, run_id: str) -> None:
        """Forget a run that was purged."""
        await asyncio.wrap_future(
            self.store.telemetry.write(lambda connection: _remove_telemetry(connection, run_id))
        )

        def work(connection: Any) -> None:
            events.remove(connection, run_id)
            runs.remove(connection, run_id)

        await asyncio.wrap_future(self.store.runs.write(work))
        self._bus.publish_removed(run_id)

    def end_streams(self, run_id: str) -> None:
        self._bus.publish_end(run_id)


def _write_telemetry(
    run_id: str, decoded: Decoded, next_offset: int, connection: sqlite3.Connection
) -> recordings.Recording | None:
    """Store points, steps and episodes with their offset; return the recording as it was before."""
    if not metrics.advance(connection, run_id, next_offset):
        return None
    metrics.insert(connection, run_id, decoded.points)
    if not decoded.steps and not decoded.episodes:
        return None
    return recordings.insert(connection, run_id, decoded.steps, decoded.episodes)


def _remove_telemetry(connection: sqlite3.Connection, run_id: str) -> None:
    metrics.remove(connection, run_id)
    recordings.remove(connection, run_id)


def unknown_run(run_id: str) -> NotFound:
    return NotFound(f"There is no run {run_id!r}.", hint="'mosaic ps --all' lists them.")
