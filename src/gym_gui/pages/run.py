"""Run: one run, all of it, while it trains and ever after."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from fastapi import Request
from nicegui import ui

from gym_gui.frame import frame, page_at
from gym_gui.live import Live
from gym_gui.run_files import add_file_route
from gym_gui.run_header import RunHeader
from gym_gui.run_view import RunView, open_view
from gym_gui.tabs.catalogue import Tab, tabs_for
from gym_gui.tabs.shown import Shown
from gym_gui.widgets.chart import add_chart_script
from gym_gui.widgets.empty import empty
from gym_gui.widgets.frame_view import add_frame_script
from gym_gui.widgets.retrying import retrying
from mosaic.contracts.errors import NotFound

_LINEAGE_EVERY = 10  # seconds; runs that continue this one are rare
_FIRST_CURVES_S = 0.9  # they are shown as they come, not with the next second


def add(live: Live) -> None:
    add_file_route(live)

    @page_at("/runs/{run_id}")
    async def page(run_id: str, request: Request) -> None:
        with frame(live, "Runs"):
            add_chart_script()
            add_frame_script()
            await retrying(live, lambda: _open(live, run_id, request.query_params))


async def _open(live: Live, run_id: str, query: Mapping[str, str]) -> None:
    """Fill the page, or say that there is no such run."""
    try:
        view = await open_view(live, run_id, query)
    except NotFound as error:
        empty(error.one_line(), action="All runs", path="/runs")
        return
    ui.page_title(f"{view.run.algo} on {view.run.env_id} · MOSAIC")
    _Page(view)


class _Page:
    """The header, the tabs, and the one timer that keeps both up."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        self._shown = Shown()
        self._seconds = 0
        self._tabs = {tab.key: tab for tab in tabs_for(view.run.worker)}
        self._header = RunHeader(view)
        asked = view.query.get("tab", "overview")
        self._key = asked if asked in self._tabs else "overview"
        self._bar()
        self._panel = ui.column().classes("w-full gap-4").props("role=tabpanel")
        self._fill()
        ui.context.client.on_delete(self._close)
        ui.timer(1.0, self._tick)

    def _bar(self) -> None:
        bar = ui.tabs().props("no-caps dense align=left outside-arrows mobile-arrows")
        bar.classes("w-full mosaic-tabs")
        with bar:
            for tab in self._tabs.values():
                ui.tab(tab.key, label=tab.title)
        bar.set_value(self._key)
        bar.on_value_change(lambda event: self._choose(event.value))

    def _choose(self, key: str) -> None:
        if key not in self._tabs or key == self._key:
            return
        self._key = key
        # What belonged to the tab before says nothing in this one.
        self._view.query.clear()
        self._view.remember(tab=None if key == "overview" else key)
        self._shown.close()
        self._panel.clear()
        self._fill()

    def _fill(self) -> None:
        tab: Tab = self._tabs[self._key]
        with self._panel:
            self._shown = tab.build(self._view)

    async def _tick(self) -> None:
        if self._seconds == 0:
            self._view.feed.start()  # now somebody looks
            await self._view.feed.await_first(_FIRST_CURVES_S)
        await self._view.keep_up()
        self._header.refresh()
        if self._seconds % _LINEAGE_EVERY == 0:
            await self._header.show_lineage()
        self._seconds += 1
        done = self._shown.refresh()
        if inspect.isawaitable(done):
            await done

    def _close(self) -> None:
        self._shown.close()
        self._view.close()
