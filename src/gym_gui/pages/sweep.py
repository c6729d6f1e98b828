"""Sweep: one study, while it goes on and after."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

from nicegui import ui

from gym_gui.failures import FAILURES, failure_line
from gym_gui.frame import frame, page_at
from gym_gui.live import Live
from gym_gui.sweep_data import SweepView, read_sweep
from gym_gui.widgets.command_line import command_line
from gym_gui.widgets.empty import empty
from gym_gui.widgets.headings import heading
from gym_gui.widgets.trial_charts import TrialCharts
from gym_gui.widgets.trial_table import TrialTable
from mosaic.contracts.errors import MosaicError
from mosaic.sweeps.starting import conduct, find_sweep, stop_sweep

_REFRESH_S = 2.0


def add(live: Live) -> None:
    @page_at("/sweeps/{name}")
    async def page(name: str) -> None:
        with frame(live, "Sweeps"):
            try:
                own = find_sweep(live.paths, name)
            except MosaicError as error:
                empty(error.one_line(), action="All sweeps", path="/sweeps")
                return
            view = _Page(live, own.root.name)
            await view.refresh()
            ui.timer(_REFRESH_S, view.refresh)


class _Page:
    def __init__(self, live: Live, name: str) -> None:
        self._live = live
        self._name = name
        with ui.row().classes("w-full items-center gap-3"):
            heading(name, 1)
            ui.space()
            self._use = ui.button("Use the best values", icon="tune", on_click=self._open_form)
            self._use.props("no-caps").tooltip("Opens the train form, filled with them")
            self._stop = ui.button("Stop", icon="stop", on_click=self._end).props(
                "outline no-caps color=negative"
            )
            self._stop.tooltip("End the sweep and the trials that are under way")
            self._resume = ui.button("Go on", icon="restart_alt", on_click=self._go_on).props(
                "outline no-caps"
            )
            self._resume.tooltip("Conduct the trials that are left")
        self._summary = ui.label().classes("mosaic-muted").props("aria-live=polite")
        self._waiting = ui.label("The first trial has not ended yet.").classes("mosaic-muted")
        with ui.column().classes("w-full gap-4") as self._body:
            with ui.column().classes("w-full mosaic-panel gap-2"):
                heading("Trials")
                self._table = TrialTable()
            self._charts = TrialCharts()
        with ui.row().classes("items-center gap-2"):
            ui.label("The same in a terminal:").classes("mosaic-muted")
            command_line(f"mosaic sweep --show {name}")

    async def refresh(self) -> None:
        self._show(await asyncio.to_thread(read_sweep, self._live.paths, self._name))

    def _show(self, view: SweepView) -> None:
        about = ""
        if view.request is not None:
            given = view.request
            about = f"{given.algo} on {given.given.get('env_id')}, {given.objective}: "
        self._summary.set_text(about + view.summary)
        has_best = view.study is not None and view.study.best is not None
        self._use.set_enabled(has_best and view.request is not None)
        self._stop.set_visibility(view.is_under_way)
        self._resume.set_visibility(view.request is not None and not view.is_under_way)
        self._body.set_visibility(view.study is not None)
        self._waiting.set_visibility(view.study is None)
        if view.study is not None:
            self._table.show(view.study)
            self._charts.show(view.study)

    def _open_form(self) -> None:
        ui.navigate.to(f"/launch?study={quote(self._name)}")

    async def _end(self) -> None:
        await asyncio.to_thread(stop_sweep, self._live.paths, self._name)
        ui.notify("The sweep was told to stop.")

    async def _go_on(self) -> None:
        try:
            await asyncio.to_thread(conduct, self._live.paths, self._name)
        except FAILURES as error:
            ui.notify(failure_line(error), type="negative")
        await self.refresh()
