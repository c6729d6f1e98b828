"""Runs: every run there is, a page of them at a time."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from nicegui import ui
from starlette.requests import Request

from gym_gui.failures import FAILURES, failure_line
from gym_gui.frame import frame, page_at
from gym_gui.listing import GROUPED_SIZE, RunFilters, read_filters
from gym_gui.live import Live
from gym_gui.run_data import fetch_bests
from gym_gui.run_rows import has_ended
from gym_gui.widgets.group_table import GroupTable
from gym_gui.widgets.paging import PageTurner
from gym_gui.widgets.run_bulk import BulkBar
from gym_gui.widgets.run_choices import Desk, runs_word
from gym_gui.widgets.run_filters import FilterBar
from gym_gui.widgets.run_table import RunTable
from gym_gui.widgets.undo import UndoBar
from mosaic.proto import trainer_pb2 as pb

# A page is sent after this long at the latest, with or without its runs: they follow.
_PATIENCE_S = 2.0
_BESTS_EVERY_S = 5.0


def add(live: Live) -> None:
    @page_at("/runs")
    async def page(request: Request) -> None:
        filters, problems = read_filters(request.query_params)
        with frame(live, "Runs"):
            view = RunsView(live, filters, problems)
            try:
                await asyncio.wait_for(view.load(), _PATIENCE_S)
            except TimeoutError:
                view.tell("The daemon takes long to answer. The list comes as soon as it does.")
        ui.timer(1.0, view.follow)


class RunsView:
    """One open page: what it shows, and what was asked for."""

    def __init__(self, live: Live, filters: RunFilters, problems: list[str]) -> None:
        self._live = live
        self._filters = filters
        self._problems = problems
        self._is_loaded = False
        self._asked = 0  # numbers the requests, so that a late answer does not win
        self._bests_at = 0.0
        self._newest = 0.0
        self._head()
        self._bar = FilterBar(filters, self._change)
        self._line = ui.label().classes("w-full mosaic-panel").props("role=alert")
        desk = Desk(live, UndoBar(), self._after_action)
        choices = desk.bin_choices() if filters.bin else desk.run_choices()
        self._bulk = BulkBar(choices, lambda: self._table.selected)
        self._table: RunTable | GroupTable = (
            GroupTable(live, on_select=self._selected)
            if filters.group
            else RunTable(on_select=self._selected, on_sort=self._sort)
        )
        self._nothing = ui.column().classes("w-full items-center py-10 gap-3 mosaic-panel")
        self._nothing.set_visibility(False)
        self._turner = PageTurner(filters, self._turn)
        self._selected()
        self.tell("")

    def _head(self) -> None:
        filters = self._filters
        with ui.row().classes("w-full items-center gap-3"):
            ui.label("Bin" if filters.bin else "Runs").classes("text-2xl font-bold").props(
                "role=heading aria-level=1"
            )
            self._total = ui.label().classes("mosaic-muted mosaic-number")
            self._news = ui.button(icon="refresh", on_click=self._show_news).props(
                "flat dense no-caps"
            )
            ui.space()
            if not filters.bin:
                ui.switch(
                    "Group seeds",
                    value=filters.group,
                    on_change=lambda event: self._go(group=event.value),
                ).tooltip("Runs that differ in nothing but the seed as one row")
            ui.button(
                "Back to the runs" if filters.bin else "Bin",
                icon="list" if filters.bin else "delete",
                on_click=lambda: ui.navigate.to(RunFilters(bin=not filters.bin).address()),
            ).props("flat no-caps").tooltip("Deleted runs stay in the bin for 7 days")
        self._news.set_visibility(False)

    def tell(self, problem: str) -> None:
        """Show a line above the list, below what the address got wrong; empty takes it away."""
        text = " ".join([*self._problems, problem]).strip()
        self._line.set_text(text)
        self._line.set_visibility(bool(text))

    async def load(self) -> None:
        """Ask the daemon for the page, and show it."""
        self._asked += 1
        number = self._asked
        try:
            page = await self._live.need_client().list_runs(**self._filters.request())
            if number == self._asked:
                await self._show(page)
        except FAILURES as error:
            if number == self._asked:
                self._is_loaded = False
                self.tell(failure_line(error))

    async def _show(self, page: pb.ListRunsResponse) -> None:
        self._is_loaded = True
        self._bests_at = 0.0
        self._newest = max((run.created_at for run in self._live.runs.values()), default=0.0)
        self._news.set_visibility(False)
        self.tell("")
        self._total.set_text(self._total_text(page))
        if isinstance(self._table, GroupTable):
            await self._table.show(page.runs)
        else:
            filters = self._filters
            self._table.show(page.runs, sort=filters.sort, up=filters.up, total=page.total_count)
        for name, field in (("algo", "algo"), ("env", "env_id")):
            self._bar.suggest(name, {getattr(run, field) for run in page.runs})
        self._turner.show(page.next_page_token, len(page.runs), page.total_count)
        self._show_nothing(is_empty=not page.runs)

    def _total_text(self, page: pb.ListRunsResponse) -> str:
        text = (
            runs_word(page.total_count) if page.total_count < 1000 else f"{page.total_count:,} runs"
        )
        if self._filters.group and page.total_count > len(page.runs):
            return f"{text}, {GROUPED_SIZE} grouped at a time"
        return text

    def _show_nothing(self, *, is_empty: bool) -> None:
        self._nothing.set_visibility(is_empty)
        self._table.set_visibility(not is_empty)
        if not is_empty:
            return
        self._nothing.clear()
        with self._nothing:
            if self._filters.is_filtered or self._filters.after:
                ui.label("No run fits these filters.").classes("mosaic-muted")
                there = RunFilters(bin=self._filters.bin).address()
                ui.button("Show every run", on_click=lambda: ui.navigate.to(there))
            elif self._filters.bin:
                ui.label("The bin is empty. What is deleted stays here for 7 days.").classes(
                    "mosaic-muted"
                )
            else:
                ui.label("There are no runs yet.").classes("mosaic-muted")
                ui.button("Train an agent", on_click=lambda: ui.navigate.to("/launch"))

    # What the user does

    async def _change(self, **values: Any) -> None:
        if all(getattr(self._filters, name) == value for name, value in values.items()):
            return
        self._problems = []
        self._table.unselect()
        self._turner.forget()
        await self._look(self._filters.changed(**values))

    async def _sort(self, column: str, up: bool) -> None:
        self._turner.forget()
        await self._look(self._filters.changed(sort=column, up=up))

    async def _turn(self, **values: Any) -> None:
        await self._look(self._filters.changed(**values))

    async def _look(self, filters: RunFilters) -> None:
        self._filters = filters
        ui.navigate.history.replace(filters.address())
        self._bar.show(filters)
        await self.load()
        self._selected()

    def _go(self, **values: Any) -> None:
        ui.navigate.to(self._filters.changed(**values).address())

    def _selected(self) -> None:
        self._bulk.refresh()

    async def _show_news(self) -> None:
        self._turner.forget()
        await self._look(self._filters.changed())

    async def _after_action(self) -> None:
        self._table.unselect()
        await self.load()
        self._selected()

    # What happens by itself

    async def follow(self) -> None:
        """Take over what changed; rows that are new wait until somebody asks for them."""
        if not self._is_loaded:
            if self._live.is_connected:
                await self.load()
            return
        self._table.update(self._live.runs)
        self._tell_news()
        if time.monotonic() - self._bests_at > _BESTS_EVERY_S:
            await self._load_bests()

    def _tell_news(self) -> None:
        shown = self._table.runs
        new = [
            run
            for run in self._live.runs.values()
            if run.created_at > self._newest and run.run_id not in shown
        ]
        self._news.set_visibility(bool(new) and not self._filters.bin)
        self._news.set_text(f"{len(new)} new")

    async def _load_bests(self) -> None:
        is_first = self._bests_at == 0.0
        self._bests_at = time.monotonic()
        runs = [run for run in self._table.runs.values() if is_first or not has_ended(run)]
        try:
            self._table.show_bests(await fetch_bests(self._live.need_client(), runs))
        except FAILURES:
            return  # the list itself says that the daemon is away
