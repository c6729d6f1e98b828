"""A run as one file: a ZIP that is made while it is sent, so that it needs no room of its own."""

from __future__ import annotations

import csv
import functools
import io
import json
import os
import stat
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from mosaic import __version__
from mosaic.contracts import run_archive as names
from mosaic.contracts.paths import RunPaths
from mosaic.contracts.run_archive import COLUMNS, ExportedRun
from mosaic.contracts.secrets import redact
from mosaic.trainer.archive.parquet import ParquetWriter
from mosaic.trainer.store import recordings
from mosaic.trainer.store.database import Database
from mosaic.trainer.store.run_record import RunRecord
from mosaic.trainer.store.series import all_points, all_series

_PIECE_BYTES = 1 << 20
_ROW_GROUP = 100_000
_PAGE_LINES = 2_000
# What is compressed already is stored as it is.
_PACKED = frozenset({".mp4", ".webm", ".png", ".jpg", ".zst", ".gz", ".zip", ".safetensors"})
_PARQUET_COLUMNS = tuple(
    zip(COLUMNS, ("str", "int", "float", "float", "float", "int"), strict=True)
)


@dataclass(frozen=True, slots=True)
class Export:
    """What is to be written: an ended run, and how much of it."""

    record: RunRecord
    files: RunPaths
    worker_config: dict[str, Any] | None
    event_lines: Sequence[str]
    telemetry: Database
    with_checkpoints: bool


def write_archive(export: Export, file: IO[bytes]) -> None:
    """Write the archive to a stream; it need not be seekable."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        _write_json(archive, names.HEADER, _header(export))
        _write_json(archive, names.CONFIG, redact(export.record.config))
        if export.worker_config is not None:
            _write_json(archive, names.WORKER_CONFIG, redact(export.worker_config))
        archive.writestr(names.EVENTS, "".join(f"{line}\n" for line in export.event_lines))
        _write_telemetry(archive, export)
        _write_csv(archive, export)
        _write_parquet(archive, export)
        for path in _run_files(export):
            _write_file(archive, path, names.FILES + export.files.relative(path))


def _header(export: Export) -> dict[str, Any]:
    record = export.record
    fields = {name: getattr(record, name) for name in ExportedRun.model_fields}
    fields |= {"state": str(record.state), "outcome": str(record.outcome)}
    fields["last_lines"] = list(record.last_lines)
    series = all_series(export.telemetry, record.run_id)
    return {
        "format": names.FORMAT,
        "version": names.VERSION,
        "mosaic_version": __version__,
        "exported_at": time.time(),
        "with_checkpoints": export.with_checkpoints,
        "wandb_link": _wandb_link(export.files),
        "merged_tags": [each.tag for each in series if each.is_trimmed],
        "run": fields,
    }


def _wandb_link(files: RunPaths) -> str | None:
    try:
        manifest = json.loads(files.manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    path = manifest.get("wandb_run_path") if isinstance(manifest, dict) else None
    return f"https://wandb.ai/{path}" if isinstance(path, str) and path else None


def _write_telemetry(archive: zipfile.ZipFile, export: Export) -> None:
    run_id, telemetry = export.record.run_id, export.telemetry
    if telemetry.read(lambda connection: recordings.find(connection, run_id)).result() is None:
        return
    with archive.open(names.TELEMETRY, "w", force_zip64=True) as entry:
        for read in (recordings.read_steps, recordings.read_episodes):
            index: int | None = 0
            while index is not None:
                query = recordings.Query(from_index=index, limit=_PAGE_LINES)
                page = telemetry.read(functools.partial(read, run_id=run_id, query=query)).result()
                entry.write("".join(f"{line}\n" for line in page.lines).encode())
                index = page.next_index


def _write_csv(archive: zipfile.ZipFile, export: Export) -> None:
    with archive.open(names.METRICS_CSV, "w", force_zip64=True) as entry:
        text = io.TextIOWrapper(entry, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for series in all_series(export.telemetry, export.record.run_id):
            for points in all_points(export.telemetry, series):
                writer.writerows(points)
        text.flush()
        text.detach()


def _write_parquet(archive: zipfile.ZipFile, export: Export) -> None:
    info = zipfile.ZipInfo(names.METRICS_PARQUET)
    with archive.open(info, "w", force_zip64=True) as entry:
        writer = ParquetWriter(entry, _PARQUET_COLUMNS)
        rows: list[tuple[Any, ...]] = []
        for series in all_series(export.telemetry, export.record.run_id):
            for points in all_points(export.telemetry, series):
                rows += points
                if len(rows) >= _ROW_GROUP:
                    writer.write(list(zip(*rows, strict=True)))
                    rows = []
        if rows:
            writer.write(list(zip(*rows, strict=True)))
        writer.close()


def _run_files(export: Export) -> Iterator[Path]:
    """Return the regular files of the run directory; links lead elsewhere, and are left out."""
    for folder, folders, found in os.walk(export.files.root):
        folders.sort()
        if not export.with_checkpoints and Path(folder) == export.files.root:
            folders[:] = [name for name in folders if name != export.files.checkpoints.name]
        for name in sorted(found):
            path = Path(folder, name)
            if stat.S_ISREG(path.lstat().st_mode):
                yield path


def _write_file(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    kind = zipfile.ZIP_STORED if path.suffix in _PACKED else zipfile.ZIP_DEFLATED
    info = zipfile.ZipInfo.from_file(path, name, strict_timestamps=False)
    info.compress_type = kind
    with path.open("rb") as source, archive.open(info, "w", force_zip64=True) as entry:
        while piece := source.read(_PIECE_BYTES):
            entry.write(piece)


def _write_json(archive: zipfile.ZipFile, name: str, document: Any) -> None:
    archive.writestr(name, json.dumps(document, indent=2) + "\n")
