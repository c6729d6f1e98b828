"""Compare: runs in one chart, seeds as one curve with its band, and where the settings differ."""

from __future__ import annotations

import asyncio
import csv
import io
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from nicegui import ui
from starlette.requests import Request

from gym_gui.comparison import Comparison, Experiment
from gym_gui.failures import FAILURES, failure_line
from gym_gui.frame import frame, page_at
from gym_gui.live import Live
from gym_gui.run_data import RETURN_TAG
from gym_gui.run_rows import plain_cell
from gym_gui.seeds import BANDS, FEWEST_FOR_INTERVAL
from gym_gui.widgets.bands import BandChart, NamedBand
from gym_gui.widgets.curve_list import CurveList
from gym_gui.widgets.difference_table import DifferenceTable
from gym_gui.widgets.headings import heading
from gym_gui.widgets.run_picker import RunPicker
from gym_gui.widgets.video_row import VideoRow
from mosaic.contracts.metrics import find_metric

_PATIENCE_S = 2.0
_REFRESH_S = 2.0
FEW_SEEDS = (
    "Of two seeds the band shows the lowest and the highest: an interval takes three or more."
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address of the page says."""

    runs: tuple[str, ...] = ()
    tag: str = RETURN_TAG
    seeds: str = "together"  # or "apart"
    band: str = "interval"
    smooth: float = 0.0

    def address(self) -> str:
        default = Asked()
        changed = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if getattr(self, each.name) != getattr(default, each.name)
        }
        if self.runs:
            changed["runs"] = ",".join(self.runs)
        return f"/compare?{urlencode(changed, safe=',/')}" if changed else "/compare"


def read_asked(query: Mapping[str, str]) -> Asked:
    """Read the address; what is not allowed there is what it would be by itself."""
    default = Asked()
    runs = tuple(filter(None, (word.strip() for word in query.get("runs", "").split(","))))
    seeds = query.get("seeds", default.seeds)
    band = query.get("band", default.band)
    try:
        smooth = float(query.get("smooth", "0"))
    except ValueError:
        smooth = 0.0
    return Asked(
        runs=runs,
        tag=query.get("tag", default.tag)[:200],
        seeds=seeds if seeds in ("together", "apart") else default.seeds,
        band=band if band in BANDS else default.band,
        smooth=smooth if 0.0 <= smooth < 1.0 else 0.0,
    )


def add(live: Live) -> None:
    @page_at("/compare")
    async def page(request: Request) -> None:
        with frame(live, "Compare"):
            view = CompareView(live, read_asked(request.query_params))
            try:
                await asyncio.wait_for(view.load(), _PATIENCE_S)
            except TimeoutError:
                if not view.is_loaded:
                    view.tell("The curves are being fetched, and come as soon as they are there.")
        ui.timer(1.0, view.follow)


def _is_thin(bands: Sequence[NamedBand]) -> bool:
    """Say whether a curve is the mean of two runs, which have no interval worth drawing."""
    return any(1 < max(each.band.runs, default=0) < FEWEST_FOR_INTERVAL for each in bands)


class CompareView:
    """One open page."""

    def __init__(self, live: Live, asked: Asked) -> None:
        self._live = live
        self._asked = asked
        self._comparison = Comparison()
        self.is_loaded = False
        self._has_videos = False
        self._fetched_at = 0.0
        self._head()
        self._line = ui.label().classes("w-full mosaic-panel").props("role=alert")
        self._nothing = ui.column().classes("w-full items-center py-10 gap-3 mosaic-panel")
        with self._nothing:
            ui.label("Nothing to compare yet: add runs above, or select some in Runs.").classes(
                "mosaic-muted text-center"
            )
            ui.button("Choose among the runs", on_click=lambda: ui.navigate.to("/runs")).props(
                "no-caps"
            )
        with ui.column().classes("w-full gap-4") as self._body:
            self._controls()
            with ui.column().classes("w-full mosaic-panel gap-2"):
                self._help = ui.label().classes("mosaic-muted")
                self._chart = BandChart()
                self._curves = CurveList(self._remove)
            with ui.column().classes("w-full mosaic-panel gap-2"):
                heading("What differs", 2)
                self._differences = DifferenceTable()
            with ui.column().classes("w-full mosaic-panel gap-2"):
                heading("Videos side by side", 2)
                self._videos = VideoRow()
        self.tell("")
        self._show_parts()

    def _head(self) -> None:
        with ui.row().classes("w-full items-center gap-3"):
            heading("Compare", 1)
            ui.space()
            ui.button("Side by side", icon="sports", on_click=self._open_match).props(
                "outline no-caps"
            ).tooltip("Let these runs' policies, a model or chance play the same episodes")
            RunPicker(self._live, self._add)

    def _open_match(self) -> None:
        ui.navigate.to(f"/versus?{urlencode([('c', run_id) for run_id in self._asked.runs])}")

    def _controls(self) -> None:
        asked = self._asked
        with ui.row().classes("w-full items-center gap-4"):
            self._tag = (
                ui.select(
                    [asked.tag],
                    value=asked.tag,
                    label="Metric",
                    with_input=True,
                    on_change=lambda event: self._change(tag=event.value or RETURN_TAG),
                )
                .props("outlined dense options-dense")
                .classes("w-72 max-sm:w-full")
                .tooltip("What the curves show")
            )
            ui.switch(
                "Seeds as one curve",
                value=asked.seeds == "together",
                on_change=lambda event: self._change(seeds="together" if event.value else "apart"),
            ).tooltip("Runs that differ in nothing but the seed are averaged")
            ui.select(
                BANDS,
                value=asked.band,
                label="Band",
                on_change=lambda event: self._change(band=event.value),
            ).props("outlined dense options-dense").classes("w-64 max-sm:w-full").tooltip(
                "How far the mean over the seeds is to be trusted"
            )
            with ui.row().classes("items-center gap-4 no-wrap w-64 pr-3 max-sm:w-full"):
                ui.label("Smoothing").classes("mosaic-muted")
                ui.slider(
                    min=0.0,
                    max=0.99,
                    step=0.01,
                    value=asked.smooth,
                    on_change=lambda event: self._change(smooth=event.value),
                ).props("label debounce=150 aria-label='Smoothing'").tooltip(
                    "Weight of the past in the moving average; 0 is off"
                )
            ui.button("CSV", icon="download", on_click=self._download).props(
                "flat dense no-caps"
            ).tooltip("The curves as they are drawn, as a table")

    def tell(self, problem: str) -> None:
        text = " ".join([*self._comparison.problems, problem]).strip()
        self._line.set_text(text)
        self._line.set_visibility(bool(text))

    def _show_parts(self) -> None:
        self._nothing.set_visibility(not self._asked.runs)
        self._body.set_visibility(bool(self._asked.runs))

    async def load(self) -> None:
        """Fetch the runs and their curves, and draw them."""
        self.is_loaded = self._has_videos = False  # the page may stop waiting before
        self._show_parts()
        try:
            client = self._live.need_client()
            await self._comparison.load(client, self._asked.runs)
            await self._comparison.load_curves(client, self._asked.tag, is_new=True)
        except FAILURES as error:
            self.tell(failure_line(error))
            return
        tags = sorted({*self._comparison.tags, self._asked.tag})
        self._tag.set_options(tags, value=self._asked.tag)
        self.tell("")
        self._draw()
        self.is_loaded = True

    async def follow(self) -> None:
        """Ask for what grew, as long as a run is under way."""
        if not self.is_loaded:
            if self._live.is_connected and self._asked.runs:
                await self.load()
            return
        if not self._has_videos:
            self._has_videos = True
            await self._videos.show(self._comparison.runs)
        due = time.monotonic() - self._fetched_at > _REFRESH_S
        if not (due and self._comparison.is_growing and self._live.is_connected):
            return
        self._fetched_at = time.monotonic()
        self._comparison.update(self._live.runs)
        await self._fetch(is_new=False)

    async def _fetch(self, *, is_new: bool) -> None:
        try:
            client = self._live.need_client()
            await self._comparison.load_curves(client, self._asked.tag, is_new=is_new)
        except FAILURES as error:
            self.tell(failure_line(error))
            return
        self.tell("")
        self._draw()

    def _experiments(self) -> list[Experiment]:
        return self._comparison.experiments(by_seed=self._asked.seeds == "apart")

    def _draw(self) -> None:
        asked = self._asked
        experiments = self._experiments()
        bands = [NamedBand(each.name, each.band(asked.band)) for each in experiments]
        metric = find_metric(asked.tag)
        few = FEW_SEEDS if asked.band in ("interval", "error") and _is_thin(bands) else ""
        self._help.set_text(f"{metric.help if metric else asked.tag} {few}".strip())
        unit = (metric.unit or "") if metric else ""
        self._chart.show(bands, unit, smoothing=asked.smooth, has_band=asked.band != "none")
        self._curves.show(experiments, bands)
        self._differences.show(
            [each.name for each in experiments],
            [each.members[0].config for each in experiments],
            with_own=asked.seeds == "apart",
        )

    # What the user does

    async def _change(self, **values: Any) -> None:
        changed = replace(self._asked, **values)
        if changed == self._asked:
            return
        before, self._asked = self._asked, changed
        ui.navigate.history.replace(changed.address())
        if changed.runs != before.runs:
            await self.load()
        elif changed.tag != before.tag:
            await self._fetch(is_new=True)
        else:
            self._draw()

    async def _add(self, run_id: str) -> None:
        await self._change(runs=tuple(dict.fromkeys((*self._asked.runs, run_id))))

    async def _remove(self, run_ids: set[str]) -> None:
        await self._change(runs=tuple(each for each in self._asked.runs if each not in run_ids))

    def _download(self) -> None:
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(["curve", "step", "mean", "low", "high", "runs"])
        for each in self._experiments():
            band = each.band(self._asked.band)
            rows = zip(band.steps, band.mean, band.low, band.high, band.runs, strict=True)
            writer.writerows([plain_cell(each.name), *row] for row in rows)
        ui.download.content(text.getvalue(), "compare.csv", "text/csv")
