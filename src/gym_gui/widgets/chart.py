"""The curve of one metric: band and mean, smoothed, zoomed with a finer look, as PNG and CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from gym_gui import formatting
from gym_gui.axes import Ruler
from gym_gui.curve_feed import CurveFeed, is_by_step
from gym_gui.curves import Curve, refine, thin
from gym_gui.widgets.chart_drawing import Line, Look, draw, options, tails
from mosaic.contracts.errors import MosaicError
from mosaic.contracts.metrics import find_metric

_SCRIPT = Path(__file__).with_name("chart.js")
_LONGEST_ZOOM = 0.98  # a zoom that shows nearly everything is none


def add_chart_script() -> None:
    """Put what all charts of a page share into its head; once a page."""
    ui.add_head_html(f"<script>{_SCRIPT.read_text(encoding='utf-8')}</script>")


class CurveChart:
    """One chart. `refresh` sends what is new; it costs nothing when nothing is."""

    def __init__(self, feed: CurveFeed, tag: str, look: Look, *, height: str = "15rem") -> None:
        self.tag = tag
        self.lines: list[Line] = [[], [], [], []]
        self._feed = feed
        self._look = look
        self._ruler: Ruler | None = None
        self._marks: list[tuple[float, str]] = []
        self._detail = Curve()
        self._shown = (-1, look)
        metric = find_metric(tag)
        self._unit = (metric.unit if metric else None) or ""
        self._x_name = "" if is_by_step(tag) or metric is None else f"{metric.axis}s"
        with ui.column().classes("w-full gap-0 mosaic-panel p-3 min-w-0") as self.panel:
            with ui.row().classes("w-full items-center no-wrap gap-1"):
                title = ui.label(tag).classes("font-bold grow truncate min-w-0")
                title.tooltip(metric.help if metric else "A metric of this worker's own.")
                self._value = ui.label().classes("mosaic-number whitespace-nowrap")
                self._buttons()
            self._chart = ui.echart(self._options()).classes("w-full").style(f"height: {height}")
            self._chart.props(f'role=img aria-label="{_plain(tag)}"')
            self._chart.on(
                "chart:datazoom",
                self._zoom,
                args=["start", "end", "batch"],
                throttle=0.3,
                leading_events=False,
            )
            self._note = ui.label().classes("mosaic-muted text-xs")
        self.refresh()

    def refresh(self) -> None:
        """Show what the feed has, where it has something new."""
        now = (self._feed.revision, self._look)
        if now == self._shown:
            return
        self._shown = now
        curve = self._feed.curve(self.tag)
        if len(self._detail):
            curve = thin(refine(curve, self._detail), 4_000)
        self._ruler = self._feed.ruler(self._look.axis) if is_by_step(self.tag) else None
        self._mark()
        self._send(draw(curve, self._ruler, self._look))
        self._value.set_text(_with_unit(curve.last_value, self._unit))
        self._note.set_text(_note(curve, self._look))

    def show(self, look: Look) -> None:
        """Show it another way."""
        if look == self._look:
            return
        is_moved = look.axis != self._look.axis
        self._look = look
        self._detail = Curve() if is_moved else self._detail
        self._chart.options.clear()
        self._chart.options.update(self._options())
        self._chart.update()
        self.refresh()

    async def look_at(self, low: int | None, high: int | None) -> None:
        """Zoom to some steps, with the points that the store has there."""
        if low is None or high is None or low >= high:
            self._detail = Curve()
            _run(self._chart, "zoom", None, None)
        else:
            await self._fetch(low, high)
            ends = [self._ruler.at(step) if self._ruler else step for step in (low, high)]
            _run(self._chart, "zoom", *ends)
        self._shown = (-1, self._look)
        self.refresh()

    def _options(self) -> Any:
        return options(self._look, x_name=self._x_name, marks=self._marks)

    def _mark(self) -> None:
        marks = self._feed.marks if is_by_step(self.tag) else []
        ruler = self._ruler
        places = [(ruler.at(step) if ruler else float(step), word) for step, word in marks]
        if places != self._marks:
            self._marks = places
            self._chart.options.update(self._options())
            self._chart.update()

    def _send(self, lines: list[Line]) -> None:
        parts = tails(self.lines, lines)
        is_new = any(rest for _, rest in parts) or list(map(len, lines)) != list(
            map(len, self.lines)
        )
        self.lines = lines
        if is_new:
            _run(self._chart, "tail", parts)

    async def _zoom(self, event: GenericEventArguments) -> None:
        """Fetch the points between the new ends of the axis."""
        xs = [pair[0] for pair in self.lines[2] if pair[0] is not None]
        ends = _zoomed_part(event.args, xs)
        if ends is None:
            self._detail = Curve()
        else:
            steps = [self._ruler.step_at(x) if self._ruler else round(x) for x in ends]
            await self._fetch(*steps)
        self._shown = (-1, self._look)
        self.refresh()

    async def _fetch(self, low: int, high: int) -> None:
        try:
            self._detail = await self._feed.fetch(self.tag, low, high)
        except MosaicError as error:
            ui.notify(error.one_line(), type="warning")

    def _buttons(self) -> None:
        def button(icon: str, text: str, act: Any) -> None:
            ui.button(icon=icon, on_click=act).props(
                f"flat round dense size=sm aria-label='{text}'"
            ).tooltip(text)

        button("zoom_out_map", "Show all of it", lambda: self.look_at(None, None))
        name = file_stem(self._feed.run_id, self.tag)
        button("image", "Save as PNG", lambda: _run(self._chart, "png", f"{name}.png"))
        button("polyline", "Save as SVG", lambda: _run(self._chart, "svg", f"{name}.svg"))
        button("table_view", "Save as CSV", self._save_csv)

    async def _save_csv(self) -> None:
        try:
            curve = await self._feed.everything(self.tag)
        except MosaicError as error:
            ui.notify(error.one_line(), type="negative")
            return
        name = f"{file_stem(self._feed.run_id, self.tag)}.csv"
        ui.download.content(as_csv(curve), name, "text/csv")


def as_csv(curve: Curve) -> str:
    """Return the buckets as a table of numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["first_step", "last_step", "minimum", "maximum", "mean", "count", "nonfinite"])
    writer.writerows(zip(*curve.columns(), strict=True))
    return text.getvalue()


def file_stem(run_id: str, tag: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", f"{run_id}-{tag}")[:120]


def _zoomed_part(given: Any, xs: Sequence[float]) -> tuple[float, float] | None:
    """Return the part of the axis that a zoom shows; None where that is (nearly) all of it."""
    found = given.get("batch") or [given] if isinstance(given, dict) else [{}]
    zoom = found[0] if isinstance(found, list) and isinstance(found[0], dict) else {}
    if len(xs) < 2:
        return None
    first, last = min(xs), max(xs)
    width = last - first
    low, high = zoom.get("startValue"), zoom.get("endValue")
    if low is None and isinstance(zoom.get("start"), int | float):
        low = first + width * zoom["start"] / 100
        high = first + width * zoom.get("end", 100) / 100
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        return None
    low, high = max(first, min(low, high)), min(last, max(low, high))
    return None if not 0 < high - low < _LONGEST_ZOOM * width else (low, high)


def _note(curve: Curve, look: Look) -> str:
    """Say what the picture leaves out."""
    notes = []
    if curve.total_nonfinite:
        notes.append(f"{curve.total_nonfinite:,} values are NaN or infinite")
    if look.is_log:
        hidden = sum(value <= 0 for value in curve.mean if math.isfinite(value))
        if hidden:
            notes.append(f"{hidden:,} points are not above 0: a logarithmic scale has no place")
    return "; ".join(notes)


def _with_unit(value: float | None, unit: str) -> str:
    return f"{formatting.number(value)} {unit}".strip()


def _plain(text: str) -> str:
    """Return a name without what ends an attribute."""
    return re.sub(r"[^\w /.:-]", "", text)[:100]


def _run(chart: ui.echart, method: str, *words: Any) -> None:
    given = json.dumps([chart.id, *words])
    chart.client.run_javascript(f"mosaicChart.{method}(...{given})")
