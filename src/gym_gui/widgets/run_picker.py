"""Add a run by any word of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from gym_gui import formatting
from gym_gui.failures import FAILURES, failure_line
from gym_gui.live import Live
from gym_gui.run_rows import name, state_word, title
from mosaic.proto import trainer_pb2 as pb

_SHOWN = 8


class RunPicker:
    """A field, and the runs that fit what is typed, newest first."""

    def __init__(self, live: Live, pick: Callable[[str], Awaitable[None]]) -> None:
        self._live = live
        self._pick = pick
        self._field = (
            ui.input("Add a run", on_change=self._search)
            .props("outlined dense clearable debounce=200 maxlength=200")
            .classes("w-80 max-sm:w-full")
            .tooltip("Part of its name, id, algorithm or environment")
            .on("focus", self._search)
        )
        with self._field:
            self._menu = ui.menu().props("no-parent-event no-focus fit max-height=60vh")

    async def _search(self) -> None:
        text = (self._field.value or "").strip()
        try:
            page = await self._live.need_client().list_runs(text=text, page_size=_SHOWN)
        except FAILURES as error:
            ui.notify(failure_line(error), type="negative", multi_line=True)
            return
        self._menu.clear()
        with self._menu:
            for run in page.runs:
                self._item(run)
            if not page.runs:
                ui.menu_item("No run fits.").props("disable")
        self._menu.open()

    def _item(self, run: pb.Run) -> None:
        async def choose() -> None:
            self._menu.close()
            await self._pick(run.run_id)

        with ui.menu_item(on_click=choose), ui.column().classes("gap-0"):
            seed = f", seed {run.seed}" if run.HasField("seed") else ""
            ui.label(f"{title(run)}{seed}")
            ui.label(f"{state_word(run)} · {formatting.age(run.created_at)} · {name(run)}").classes(
                "mosaic-muted text-xs"
            )
