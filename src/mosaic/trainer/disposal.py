"""Runs that are thrown away: to the bin, out of it, and gone."""

from __future__ import annotations

import asyncio
import functools
import time

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.paths import RunPaths, VarPaths
from mosaic.contracts.states import is_terminal
from mosaic.trainer import log
from mosaic.trainer.bin import move_in, move_out, purge
from mosaic.trainer.store import runs
from mosaic.trainer.store.runs import RunQuery, RunRecord
from mosaic.trainer.supervisor import Supervisor

_DAY_S = 86_400.0


class Disposal:
    """The bin. What is in it can be restored until it is emptied."""

    def __init__(self, supervisor: Supervisor, paths: VarPaths) -> None:
        self._supervisor = supervisor
        self._journal = supervisor.journal
        self._paths = paths

    def files(self, record: RunRecord) -> RunPaths:
        """Return where the files of a run are, the bin included."""
        if record.deleted_at is not None:
            return self._paths.binned(record.run_id)
        return self._supervisor.starter.executor.files(record.run_id, record.mode)

    async def delete(self, record: RunRecord) -> RunRecord:
        """Move an ended run to the bin."""
        refuse_unfinished(record, "deleted")
        if record.deleted_at is not None:
            raise ConfigError(
                f"Run {record.run_id} is in the bin already.",
                hint=f"'mosaic rm --purge {record.run_id}' removes it for good.",
            )
        # Marked first: a move that a crash interrupts is finished at the next start.
        changed = await self._journal.change_record(record.run_id, deleted_at=time.time())
        await asyncio.to_thread(move_in, self._paths, record.run_id, record.mode)
        return changed

    async def archive(self, record: RunRecord, *, is_undo: bool = False) -> RunRecord:
        """Hide an ended run from lists, or show it again; every file and every row stays."""
        refuse_unfinished(record, "archived")
        return await self._journal.change_record(record.run_id, is_archived=not is_undo)

    async def restore(self, record: RunRecord) -> RunRecord:
        if record.deleted_at is None:
            raise ConfigError(f"Run {record.run_id} is not in the bin.")
        await asyncio.to_thread(move_out, self._paths, record.run_id, record.mode)
        return await self._journal.change_record(record.run_id, deleted_at=None)

    async def purge(self, record: RunRecord) -> RunRecord:
        """Remove every file of an ended run, and everything that the store has of it."""
        refuse_unfinished(record, "removed")
        await asyncio.to_thread(purge, self._paths, record.run_id, record.mode)
        await self._journal.remove(record.run_id)
        log.say("swept", record.run_id, "it was removed for good")
        return record

    async def empty_bin(self, days: float) -> None:
        """Remove what has lain in the bin for longer than this."""
        before = time.time() - days * _DAY_S
        for record in await self._binned():
            if record.deleted_at is not None and record.deleted_at < before:
                await self.purge(record)

    async def recover(self) -> None:
        """Finish the moves that a crash interrupted."""
        for record in await self._binned():
            await asyncio.to_thread(move_in, self._paths, record.run_id, record.mode)

    async def _binned(self) -> list[RunRecord]:
        found: list[RunRecord] = []
        token: str | None = ""
        while token is not None:
            query = RunQuery(only_deleted=True, page_size=1000, page_token=token)
            page = await self._journal.read(functools.partial(runs.page, query=query))
            found += page.records
            token = page.next_token or None
        return found


def refuse_unfinished(record: RunRecord, done: str) -> None:
    """Refuse what can be done to a run only once it has ended."""
    if not is_terminal(record.state):
        raise ConfigError(
            f"Run {record.run_id} cannot be {done}: it has not ended ({record.state}).",
            hint=f"'mosaic cancel {record.run_id}' ends it.",
        )
