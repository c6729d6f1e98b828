"""Charts: every metric of the run, by group, all shown the same way."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import Any

from nicegui import ui

from gym_gui.axes import AXES
from gym_gui.run_view import RunView
from gym_gui.tabs.shown import Shown
from gym_gui.widgets.chart import CurveChart
from gym_gui.widgets.chart_drawing import Look
from gym_gui.widgets.headings import heading

# A page of more charts than this is not read, and a filter finds the others.
MOST_CHARTS = 40


def build(view: RunView) -> Shown:
    charts = Charts(view)
    return Shown(charts.refresh)


_FETCHING = "The curves are being fetched."
_NONE = "No metric has come yet: the first does with the first episode."


class Charts:
    """The controls, and the charts under them; new metrics are added as they appear."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        self.look = read_look(view.query)
        self._filter = view.query.get("filter", "")
        self._groups: dict[str, ui.element] = {}
        self.charts: dict[str, CurveChart] = {}
        self._controls()
        self._empty = ui.label().classes("mosaic-muted py-8").props("role=status")
        self._more = ui.label().classes("mosaic-muted")
        self._body = ui.column().classes("w-full gap-4")
        self.refresh()

    def refresh(self) -> None:
        for tag in self._wanted():
            if tag not in self.charts:
                self._add(tag)
        for chart in self.charts.values():
            chart.refresh()
        self._empty.set_visibility(not self.charts)
        self._empty.set_text(_NONE if self._view.feed.has_answered else _FETCHING)
        found = sum(self._matches(tag) for tag in self._view.feed.tags)
        left_out = max(0, found - MOST_CHARTS)
        self._more.set_text(f"{left_out} more are left out: filter by name." if left_out else "")
        self._more.set_visibility(bool(left_out))

    def _wanted(self) -> list[str]:
        known = self._view.feed.own_curves()
        tags = [tag for tag in known if self._matches(tag) and len(known[tag])]
        return sorted(tags, key=_rank)[:MOST_CHARTS]

    def _matches(self, tag: str) -> bool:
        return self._filter.lower() in tag.lower()

    def _add(self, tag: str) -> None:
        group = group_of(tag)
        if group not in self._groups:
            with self._body:
                heading(group)
                self._groups[group] = ui.element("div").classes(
                    "w-full grid grid-cols-1 lg:grid-cols-2 gap-4"
                )
        with self._groups[group]:
            chart = self.charts[tag] = CurveChart(self._view.feed, tag, self.look)
        if self.look.low is not None and self.look.high is not None:
            low, high = self.look.low, self.look.high
            with chart.panel:
                ui.timer(0.2, lambda: chart.look_at(low, high), once=True)

    def _controls(self) -> None:
        with ui.row().classes("w-full items-center gap-4 mosaic-panel"):
            with ui.column().classes("gap-0 w-52"):
                text = ui.label().classes("text-sm")
                slider = ui.slider(min=0, max=0.99, step=0.01, value=self.look.smoothing)
                slider.props('aria-label="Smoothing"').tooltip(
                    "Exponential mean, as TensorBoard's; the raw curve stays visible."
                )
                text.bind_text_from(slider, "value", lambda value: f"Smoothing {value:.2f}")
            axis = ui.toggle({name: name for name in AXES}, value=self.look.axis).props("no-caps")
            axis.tooltip("Steps of the environment, seconds of training, or episodes that ended.")
            log = ui.switch("log scale", value=self.look.is_log)
            log.tooltip("What is not above 0 has no place on it.")
            low = _step_field("from step", self.look.low, "Look at steps from here on.")
            high = _step_field("to step", self.look.high, "Look at steps up to here.")
            name = ui.input("filter", value=self._filter).props("dense clearable debounce=300")
            name.classes("w-36").tooltip("Part of a metric's name.")

        def show() -> None:
            self._show(
                Look(
                    float(slider.value or 0.0),
                    axis.value or "steps",
                    bool(log.value),
                    _whole(low.value),
                    _whole(high.value),
                )
            )

        for control in (axis, log):
            control.on_value_change(show)
        slider.on("update:model-value", show, throttle=0.3, leading_events=False)

        async def zoom() -> None:
            show()
            await asyncio.gather(
                *(each.look_at(self.look.low, self.look.high) for each in self.charts.values())
            )

        for field in (low, high):
            field.on("change", zoom)
        name.on_value_change(lambda: self._find(name.value or ""))

    def _show(self, look: Look) -> None:
        self.look = look
        self._view.remember(**write_look(look))
        for chart in self.charts.values():
            chart.show(look)

    def _find(self, text: str) -> None:
        self._filter = text
        self._view.remember(filter=text)
        self.charts.clear()
        self._groups.clear()
        self._body.clear()
        self.refresh()


def _step_field(label: str, value: int | None, help_text: str) -> ui.number:
    field = ui.number(label, value=value, min=0, step=1, format="%d").props("dense clearable")
    return field.classes("w-28").tooltip(help_text)


def group_of(tag: str) -> str:
    """Return the part before the first slash."""
    group, slash, _ = tag.partition("/")
    return group if slash else "other"


def _rank(tag: str) -> tuple[int, bool, str]:
    """Return the place of a chart: groups that matter first, and in each its return."""
    known = ("charts", "eval", "losses", "time")
    group = group_of(tag)
    place = known.index(group) if group in known else len(known)
    return place, not tag.endswith("/episodic_return"), tag


def read_look(query: Mapping[str, str]) -> Look:
    """Return how an address wants curves shown; what it spells badly is as usual."""
    usual = Look()
    try:
        smoothing = float(query.get("smoothing", usual.smoothing))
    except ValueError:
        smoothing = usual.smoothing
    axis = query.get("axis", usual.axis)
    return Look(
        smoothing if math.isfinite(smoothing) and 0 <= smoothing <= 0.99 else usual.smoothing,
        axis if axis in AXES else usual.axis,
        query.get("log") == "1",
        _whole(query.get("from")),
        _whole(query.get("to")),
    )


def write_look(look: Look) -> dict[str, str | None]:
    """Return the words of the address; what is as usual needs none."""
    usual = Look()
    return {
        "smoothing": f"{look.smoothing:g}" if look.smoothing != usual.smoothing else None,
        "axis": look.axis if look.axis != usual.axis else None,
        "log": "1" if look.is_log else None,
        "from": None if look.low is None else str(look.low),
        "to": None if look.high is None else str(look.high),
    }


def _whole(value: Any) -> int | None:
    """Return a step; None for nothing, and for what is none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if math.isfinite(number) and 0 <= number < 2**63 else None
