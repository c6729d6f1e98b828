"""What a person played, as one file: unpacked into Minari's folder of datasets, it can be loaded.

The game may go on meanwhile. Its worker writes the metadata after the data: while they are the
older of the two, an episode is being written.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from fastapi import FastAPI
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from gym_gui.live import Live
from gym_gui.run_files import RunFile, find_file, list_files
from mosaic.contracts.errors import MosaicError, NotFound, StorageError
from mosaic.contracts.identifiers import file_name
from mosaic.contracts.paths import RunPaths

_DATA, _METADATA = "main_data.hdf5", "metadata.json"
_WAIT_S = 5.0
_PIECE_BYTES = 1 << 20


def dataset_address(run_id: str) -> str:
    return f"/run-dataset/{run_id}"


def dataset_files(run_dir: Path) -> list[RunFile]:
    """Return the files of the dataset, named as in Minari's folder; none before an episode ends."""
    folder = RunPaths(run_dir).dataset
    if folder.is_symlink():
        return []
    files = [file for file in list_files(folder) if _base(file) in (_DATA, _METADATA)]
    return files if any(_base(file) == _METADATA for file in files) else []


def pack_dataset(
    run_dir: Path, *, has_ended: bool, wait_s: float = _WAIT_S
) -> tuple[str, IO[bytes]]:
    """Return a name and an open zip; while an episode is being written, wait for its end."""
    deadline = time.monotonic() + wait_s
    while True:
        files = dataset_files(run_dir)
        if not files:
            raise NotFound("The run has no dataset: it begins with the first episode's end.")
        if has_ended or _is_settled(files):
            packed = _pack(run_dir, files)
            if dataset_files(run_dir) == files:
                return _download_name(files), packed
            packed.close()
        if time.monotonic() > deadline:
            raise StorageError("An episode is being written.", hint="Try again in a moment.")
        time.sleep(0.1)


def _base(file: RunFile) -> str:
    return PurePosixPath(file.name).name


def _is_settled(files: Sequence[RunFile]) -> bool:
    newest = max(file.modified_at for file in files)
    return any(_base(file) == _METADATA and file.modified_at == newest for file in files)


def _pack(run_dir: Path, files: Sequence[RunFile]) -> IO[bytes]:
    folder = RunPaths(run_dir).dataset
    packed = tempfile.TemporaryFile(dir=RunPaths(run_dir).trainer)  # noqa: SIM115 - handed on
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for file in files:
            if (path := find_file(folder, file.name)) is not None:
                archive.write(path, file.name)
    return packed


def _download_name(files: Sequence[RunFile]) -> str:
    """Return `frozenlake-human-v0.zip` for frozenlake/human-v0/data/main_data.hdf5."""
    return f"{file_name('-'.join(PurePosixPath(files[0].name).parts[:-2]))}.zip"


def add_dataset(app: FastAPI, live: Live) -> None:
    """Add the route of the datasets: /run-dataset/RUN."""

    @app.get("/run-dataset/{run_id}")
    async def run_dataset(run_id: str) -> Response:
        try:
            details = await live.need_client().get_run(run_id)
            name, packed = await asyncio.to_thread(
                pack_dataset, Path(details.run_dir), has_ended=bool(details.run.outcome)
            )
        except MosaicError as error:
            return PlainTextResponse(error.one_line(), status_code=404)
        return StreamingResponse(
            _pieces(packed),
            media_type="application/zip",
            headers={"content-disposition": f'attachment; filename="{name}"'},
        )


def _pieces(packed: IO[bytes]) -> Iterator[bytes]:
    with packed:
        packed.seek(0)
        while piece := packed.read(_PIECE_BYTES):
            yield piece
