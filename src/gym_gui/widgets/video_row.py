"""The newest video of each run, side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from nicegui import ui

from gym_gui import formatting
from gym_gui.comparison import Compared
from gym_gui.run_files import RunFile, file_address, list_videos
from gym_gui.run_rows import title

# Each loads its beginning; more than these nobody watches at once.
_SHOWN = 8
_NONE = "None of these runs has filmed: capture_video and eval_capture_video do."


class VideoRow:
    """Rebuilt when other runs or newer videos are to be shown."""

    def __init__(self) -> None:
        self._shown: list[tuple[str, RunFile]] | None = None
        self._body = ui.element("div").classes("w-full grid grid-cols-1 md:grid-cols-2 gap-4")

    async def show(self, runs: Sequence[Compared]) -> None:
        found = await asyncio.gather(
            *(asyncio.to_thread(list_videos, each.run_dir) for each in runs)
        )
        newest = [(each, videos[0]) for each, videos in zip(runs, found, strict=True) if videos]
        key = [(each.run.run_id, video) for each, video in newest[:_SHOWN]]
        if key == self._shown:
            return
        self._shown = key
        self._body.clear()
        with self._body:
            if not newest:
                ui.label(_NONE).classes("mosaic-muted")
            for each, video in newest[:_SHOWN]:
                _video(each, video)


def _video(each: Compared, video: RunFile) -> None:
    with ui.column().classes("min-w-0 gap-1"):
        ui.video(file_address(each.run.run_id, video.name)).classes("w-full").props(
            "preload=metadata loop"
        )
        seed = f", seed {each.run.seed}" if each.run.HasField("seed") else ""
        ui.link(f"{title(each.run)}{seed}", f"/runs/{each.run.run_id}")
        ui.label(f"{video.name} · {formatting.age(video.modified_at)}").classes(
            "mosaic-muted mosaic-mono break-all"
        )
