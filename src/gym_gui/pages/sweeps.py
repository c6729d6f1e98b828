"""Sweeps: the studies that there are, and a form for another one."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

from nicegui import ui

from gym_gui import formatting
from gym_gui.forms.sweep import SweepForm
from gym_gui.frame import frame, page_at
from gym_gui.live import Live
from gym_gui.sweep_data import SweepView, read_sweeps
from gym_gui.widgets.empty import empty
from gym_gui.widgets.headings import heading
from mosaic.workers.discovery import load_catalogue

_MOST = 100
_REFRESH_S = 3.0


def add(live: Live) -> None:
    @page_at("/sweeps")
    async def page() -> None:
        with frame(live, "Sweeps"):
            heading("Sweeps", 1)
            listing = _Listing(live)
            await listing.refresh()
            ui.timer(_REFRESH_S, listing.refresh)
            SweepForm(live, load_catalogue())


class _Listing:
    def __init__(self, live: Live) -> None:
        self._live = live
        self._shown: list[tuple[str, str, str]] | None = None
        self._body = ui.column().classes("w-full gap-2")

    async def refresh(self) -> None:
        found = await asyncio.to_thread(read_sweeps, self._live.paths, _MOST)
        rows = [(view.name, view.summary, _best(view)) for view in found]
        if rows == self._shown:
            return
        self._shown = rows
        self._body.clear()
        with self._body:
            if not rows:
                empty("No sweep yet. The form below starts one; each of its trials is a run.")
            for name, summary, best in rows:
                with ui.row().classes("w-full items-center gap-4 mosaic-panel"):
                    ui.link(name, f"/sweeps/{quote(name)}").classes("font-bold")
                    ui.label(summary).classes("mosaic-muted grow")
                    ui.label(best).classes("mosaic-number")


def _best(view: SweepView) -> str:
    best = None if view.study is None else view.study.best
    return "" if best is None else f"best {formatting.number(best.value)}"
