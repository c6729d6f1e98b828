"""Home: what runs now, what needs attention, and a first run in one click."""

from __future__ import annotations

import asyncio
import time

from nicegui import ui

from gym_gui.attention import Notice, find_notices
from gym_gui.failures import FAILURES, failure_line
from gym_gui.forms.quick import first_run, quick_launch
from gym_gui.frame import frame, page_at
from gym_gui.live import Live
from gym_gui.run_data import fetch_series, return_tag
from gym_gui.run_findings import RunFindings
from gym_gui.run_rows import has_ended
from gym_gui.widgets.headings import heading
from gym_gui.widgets.run_card import RunCard
from gym_gui.widgets.run_list import RunList
from mosaic.proto import trainer_pb2 as pb

# More cards than this are a table: the page of runs has it.
_MOST_CARDS = 24
_RECENT = 6
_SPARK_POINTS = 80
_ASK_EVERY_S = 5.0


def add(live: Live) -> None:
    @page_at("/")
    def home() -> None:
        with frame(live, "Home"):
            view = HomeView(live)
        ui.timer(1.0, view.follow)


class HomeView:
    """One open page. Cards keep their places: what begins later comes behind them."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._cards: dict[str, RunCard] = {}
        self._drawn: dict[str, int] = {}
        self._notices: list[Notice] = []
        self._failed: list[pb.Run] = []
        self._findings = RunFindings()
        self._asked_at = 0.0
        self._opened_at = time.time()
        heading("Home", 1)
        self._attention = ui.column().classes("w-full gap-1 mosaic-panel")
        self._attention.set_visibility(False)
        quick_launch(live)
        heading("Running now", 2)
        self._nothing = ui.column().classes("w-full items-center py-8 gap-3 mosaic-panel")
        with self._nothing:
            ui.label("Nothing is training: a first agent needs one click.").classes("mosaic-muted")
            first_run(live)
        self._grid = ui.row().classes("w-full gap-4 items-stretch")
        self._more = ui.link("", "/runs?state=unfinished")
        heading("Ended last", 2)
        self._recent = RunList("No run has ended yet.")
        self._refresh_cards()

    async def follow(self) -> None:
        """Take over what changed since the last second."""
        self._refresh_cards()
        if time.monotonic() - self._asked_at > _ASK_EVERY_S and self._live.is_connected:
            self._asked_at = time.monotonic()
            await self._ask()
        self._refresh_notices()
        await self._draw_curves()

    def _shown(self) -> list[pb.Run]:
        """Return the runs under way, and those that ended while the page was open."""
        ended = [
            run
            for run in self._live.runs.values()
            if run.run_id in self._cards and has_ended(run) and run.ended_at > self._opened_at
        ]
        kept = [run for run in ended if not run.HasField("deleted_at")]
        return [*self._live.unfinished()[:_MOST_CARDS], *kept]

    def _refresh_cards(self) -> None:
        runs = {run.run_id: run for run in self._shown()}
        for run_id in [run_id for run_id in self._cards if run_id not in runs]:
            self._cards.pop(run_id).remove()
            self._drawn.pop(run_id, None)
        for run_id, run in runs.items():
            if run_id not in self._cards:
                with self._grid:
                    self._cards[run_id] = RunCard(run)
            else:
                self._cards[run_id].show(run)
        self._nothing.set_visibility(not self._cards)
        hidden = len(self._live.unfinished()) - _MOST_CARDS
        self._more.set_visibility(hidden > 0)
        self._more.set_text(f"{hidden} more")

    async def _ask(self) -> None:
        """Fetch what the live view does not hold: what ended before."""
        try:
            client = self._live.need_client()
            failed = await client.list_runs(outcomes=["failed"], page_size=_RECENT)
            ended = await client.list_runs(
                outcomes=["succeeded", "failed", "cancelled"], page_size=_RECENT
            )
            await self._findings.look_at(client, self._live.unfinished()[:_MOST_CARDS])
        except FAILURES as error:
            self._recent.tell(failure_line(error))
            return
        self._failed = list(failed.runs)
        self._recent.show(ended.runs)

    def _refresh_notices(self) -> None:
        found = find_notices(
            self._live.health,
            self._live.unfinished(),
            self._failed,
            findings=self._findings.by_run,
        )
        if [each.text for each in found] == [each.text for each in self._notices]:
            return
        self._notices = found
        self._attention.set_visibility(bool(found))
        self._attention.clear()
        with self._attention:
            heading("Needs attention", 2)
            for notice in found:
                with ui.row().classes("items-center gap-2 no-wrap w-full"):
                    ui.icon(notice.icon, size="xs").props("aria-hidden=true")
                    ui.link(notice.text, notice.path).classes("truncate")

    async def _draw_curves(self) -> None:
        """Fetch the curves of the runs that went on."""
        changed = [
            run
            for run in self._live.runs.values()
            if run.run_id in self._cards and self._drawn.get(run.run_id) != run.revision
        ]
        if not changed or not self._live.is_connected:
            return
        try:
            client = self._live.need_client()
            work = [
                fetch_series(client, run.run_id, return_tag(run), max_points=_SPARK_POINTS)
                for run in changed
            ]
            series = await asyncio.gather(*work)
        except FAILURES:
            return  # the banner says that the daemon is away; the next second tries again
        for run, each in zip(changed, series, strict=True):
            if run.run_id in self._cards:
                self._cards[run.run_id].draw(each)
                self._drawn[run.run_id] = run.revision
