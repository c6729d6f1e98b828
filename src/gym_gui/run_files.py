"""The files of a run, and the one route that hands them out.

A run's directory is written by whatever trained there, so nothing of it is trusted: links are not
followed, and what is no video comes as a download that no browser takes for a page.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from nicegui import app
from starlette.responses import FileResponse, PlainTextResponse, Response

from gym_gui.live import Live
from mosaic.contracts.errors import MosaicError

MOST_FILES = 1_000
_DEPTH = 6
_VIDEOS = {".mp4": "video/mp4", ".webm": "video/webm"}
_SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cache-Control": "private, no-cache",
}


@dataclass(frozen=True, slots=True)
class RunFile:
    name: str  # relative to the run's directory, with "/" between its parts
    size_bytes: int
    modified_at: float

    @property
    def is_video(self) -> bool:
        return PurePosixPath(self.name).suffix.lower() in _VIDEOS


def list_files(run_dir: Path, limit: int = MOST_FILES) -> list[RunFile]:
    """Return the regular files of a run in the order of their names, as many as are looked at."""
    found: list[RunFile] = []
    for entry in _walk(run_dir, _DEPTH):
        if len(found) == limit:
            break
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:  # it went while we looked: checkpoints are replaced
            continue
        if stat.S_ISREG(status.st_mode):
            name = Path(entry.path).relative_to(run_dir).as_posix()
            found.append(RunFile(name, status.st_size, status.st_mtime))
    return found


def list_videos(run_dir: Path) -> list[RunFile]:
    """Return the videos of a run, newest first; the one that is being written has no length."""
    videos = [file for file in list_files(run_dir) if file.is_video and file.size_bytes]
    return sorted(videos, key=lambda file: file.modified_at, reverse=True)


def _walk(directory: Path, depth: int) -> Iterator[os.DirEntry[str]]:
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if depth:
                yield from _walk(Path(entry.path), depth - 1)
        else:
            yield entry


def file_address(run_id: str, name: str) -> str:
    return f"/run-files/{quote(run_id, safe='')}/{quote(name)}"


def find_file(run_dir: Path, name: str) -> Path | None:
    """Return the regular file of this name inside the run's directory; None for any other."""
    parts = name.split("/")
    if not name or "\0" in name or "\\" in name or any(part in ("", ".", "..") for part in parts):
        return None
    path = run_dir
    for part in parts:
        path = path / part
        if path.is_symlink():
            return None
    try:
        is_file = stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return None
    return path if is_file else None


def add_file_route(live: Live) -> None:
    """Hand out files of runs; the guard before it has checked cookie, host and origin."""

    @app.get("/run-files/{run_id}/{name:path}", include_in_schema=False)
    async def run_file(run_id: str, name: str) -> Response:
        try:
            details = await live.need_client().get_run(run_id)
        except MosaicError as error:
            return PlainTextResponse(error.one_line(), status_code=404)
        path = find_file(Path(details.run_dir), name) if details.run_dir else None
        if path is None:
            return PlainTextResponse("The run has no such file.", status_code=404)
        kind = _VIDEOS.get(path.suffix.lower())
        how = "attachment" if kind is None else "inline"
        return FileResponse(
            path,
            media_type=kind or "application/octet-stream",
            filename=path.name,
            content_disposition_type=how,
            headers=_SAFE,
        )
