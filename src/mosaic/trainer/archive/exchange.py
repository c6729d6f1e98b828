"""Runs that leave as one file, and runs that come as one."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ConfigError, NotFound, StorageError
from mosaic.contracts.files import make_directory, sync_directory
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.run_archive import ExportedRun
from mosaic.contracts.run_config import parse_run_config
from mosaic.contracts.run_files import find_worker_configs, write_run_files
from mosaic.contracts.states import Outcome, RunState
from mosaic.contracts.worker_config import extract_worker_config
from mosaic.trainer import log
from mosaic.trainer.archive.pieces import pieces_of
from mosaic.trainer.archive.reading import RunArchive
from mosaic.trainer.archive.writing import Export, write_archive
from mosaic.trainer.bin import purge
from mosaic.trainer.disposal import Disposal, refuse_unfinished
from mosaic.trainer.ingest import decode
from mosaic.trainer.journal import Journal
from mosaic.trainer.store import events, metrics, recordings
from mosaic.trainer.store.run_record import RunRecord

# What stays free for the runs that are under way.
_KEPT_FREE_BYTES = 256 << 20
_MOST_EVENTS = 100_000
_NEVER = 2**62


class Exchange:
    def __init__(self, journal: Journal, disposal: Disposal, paths: VarPaths) -> None:
        self._journal = journal
        self._disposal = disposal
        self._paths = paths

    async def export(self, record: RunRecord, *, with_checkpoints: bool) -> AsyncIterator[bytes]:
        """Yield the archive of a run that has ended."""
        refuse_unfinished(record, "exported")
        lines = await self._journal.event_lines(record.run_id, limit=_MOST_EVENTS)
        export = Export(
            record=record,
            files=self._disposal.files(record),
            worker_config=await asyncio.to_thread(self._worker_config, record.run_id),
            event_lines=lines,
            telemetry=self._journal.store.telemetry,
            with_checkpoints=with_checkpoints,
        )
        async for piece in pieces_of(lambda file: write_archive(export, file)):
            yield piece

    def _worker_config(self, run_id: str) -> dict[str, Any] | None:
        for path in find_worker_configs(self._paths, run_id):
            with contextlib.suppress(OSError, ValueError):
                return dict(json.loads(path.read_text(encoding="utf-8")))
        return None

    async def take_in(self, pieces: AsyncIterator[bytes]) -> RunRecord:
        """Store a run that comes as an archive; nothing of one that is refused stays."""
        make_directory(self._paths.imports, what="The directory of imports")
        with tempfile.TemporaryDirectory(dir=self._paths.imports) as folder:
            path = Path(folder, "run.zip")
            await self._receive(pieces, path)
            archive = await asyncio.to_thread(RunArchive, path, free_bytes=self._free_bytes())
            try:
                return await self._store(archive, Path(folder, "files"))
            finally:
                archive.close()

    async def _receive(self, pieces: AsyncIterator[bytes], path: Path) -> None:
        with path.open("wb") as file:
            async for piece in pieces:
                if len(piece) > self._free_bytes():
                    raise StorageError("The disk has no room for the archive.")
                await asyncio.to_thread(file.write, piece)

    def _free_bytes(self) -> int:
        return max(0, shutil.disk_usage(self._paths.trainer).free - _KEPT_FREE_BYTES)

    async def _store(self, archive: RunArchive, folder: Path) -> RunRecord:
        record = _record(archive)
        home = self._paths.run(record.run_id, record.mode).root
        await self._refuse_known(record.run_id, home)
        await asyncio.to_thread(_unpack, archive, folder)
        try:
            await self._store_metrics(archive, record.run_id)
            await self._store_telemetry(archive, record.run_id)
            await asyncio.to_thread(self._place, archive, record, folder, home)
            await self._store_events(archive, record.run_id)
            stored = await self._journal.insert(record)
        except BaseException:
            await self._journal.remove(record.run_id)
            await asyncio.to_thread(purge, self._paths, record.run_id, record.mode)
            raise
        log.say("run_imported", record.run_id, f"{record.algo} on {record.env_id}")
        return stored

    async def _refuse_known(self, run_id: str, home: Path) -> None:
        with contextlib.suppress(NotFound):
            known = await self._journal.find(run_id)
            if known.run_id == run_id:
                raise ConfigError(
                    f"Run {run_id} is here already.",
                    hint=f"'mosaic rm --purge {run_id}' removes it first.",
                )
        if home.exists():
            raise StorageError(f"{str(home)!r} is there already, and no run of the daemon's.")

    async def _store_metrics(self, archive: RunArchive, run_id: str) -> None:
        telemetry = self._journal.store.telemetry
        pieces = archive.points()
        offset = 0
        while (points := await asyncio.to_thread(next, pieces, None)) is not None:
            offset += 1
            write = functools.partial(
                metrics.append, run_id=run_id, points=points, next_offset=offset
            )
            await asyncio.wrap_future(telemetry.write(write))

    async def _store_telemetry(self, archive: RunArchive, run_id: str) -> None:
        pieces = archive.telemetry()
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            read = functools.partial(decode, piece, 0, events_from=_NEVER, points_from=0)
            decoded = await asyncio.to_thread(read)
            write = functools.partial(
                recordings.insert, run_id=run_id, steps=decoded.steps, episodes=decoded.episodes
            )
            await asyncio.wrap_future(self._journal.store.telemetry.write(write))

    async def _store_events(self, archive: RunArchive, run_id: str) -> None:
        data = "".join(f"{line}\n" for line in archive.event_lines()).encode()
        rows = decode(data, 0, events_from=0, points_from=len(data)).events
        await asyncio.wrap_future(
            self._journal.store.runs.write(lambda c: events.append(c, run_id, rows, len(data) + 1))
        )

    def _place(self, archive: RunArchive, record: RunRecord, folder: Path, home: Path) -> None:
        make_directory(home.parent, what="The directory of the runs")
        worker = archive.worker_config or record.config
        if extract_worker_config(worker).get("run_id") != record.run_id:
            raise ConfigError("worker.json of the archive belongs to another run.")
        write_run_files(self._paths, record.config, worker)
        folder.rename(home)
        sync_directory(home.parent)


def _unpack(archive: RunArchive, folder: Path) -> None:
    folder.mkdir()
    archive.unpack_files(folder)


def _record(archive: RunArchive) -> RunRecord:
    """Return the row of the run; its config is read as a submission of today would be."""
    run: ExportedRun = archive.header.run
    # The interpreter of another machine is not ours.
    config = parse_run_config({**archive.config, "entry_point": "python", "idempotency_key": None})
    fields = run.model_dump() | {
        "state": RunState(run.state),
        "outcome": Outcome(run.outcome),
        "last_lines": tuple(run.last_lines),
        "config": config.to_json(),
    }
    return RunRecord(**fields)
