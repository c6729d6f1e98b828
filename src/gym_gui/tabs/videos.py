"""Videos: what the run filmed. An analytics run is replayed by them."""

from __future__ import annotations

import asyncio

from nicegui import ui

from gym_gui import formatting
from gym_gui.run_files import RunFile, file_address, list_videos
from gym_gui.run_view import RunView
from gym_gui.tabs.shown import Shown
from gym_gui.widgets.empty import empty

# Each one that is shown loads its beginning.
_SHOWN = 12
_NONE = (
    "No video yet. Runs film with capture_video, evaluations with eval_capture_video; "
    "the first is there when its episode has ended."
)


def build(view: RunView) -> Shown:
    gallery = _Gallery(view)
    return Shown(gallery.refresh)


class _Gallery:
    def __init__(self, view: RunView) -> None:
        self._view = view
        self._shown: list[RunFile] | None = None
        self._revision = -1
        self._body = ui.element("div").classes("w-full grid grid-cols-1 md:grid-cols-2 gap-4")

    async def refresh(self) -> None:
        if self._revision == self._view.revision and self._shown is not None:
            return
        self._revision = self._view.revision
        videos = await asyncio.to_thread(list_videos, self._view.run_dir)
        if videos == self._shown:
            return
        self._shown = videos
        self._body.clear()
        with self._body:
            if not videos:
                empty(_NONE)
            for video in videos[:_SHOWN]:
                self._add(video)
            if len(videos) > _SHOWN:
                ui.label(f"{len(videos) - _SHOWN} older ones are under Files.").classes(
                    "mosaic-muted"
                )

    def _add(self, video: RunFile) -> None:
        address = file_address(self._view.run_id, video.name)
        with ui.column().classes("mosaic-panel min-w-0 gap-1"):
            ui.video(address).classes("w-full").props("preload=metadata loop")
            ui.label(video.name).classes("mosaic-mono break-all")
            with ui.row().classes("items-center gap-3"):
                ui.label(
                    f"{formatting.size(video.size_bytes)} · {formatting.age(video.modified_at)}"
                ).classes("mosaic-muted")
                ui.link("Download", address).props("download")
