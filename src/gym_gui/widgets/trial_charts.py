"""Pictures of a study: its history, what mattered, and which values went together."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from gym_gui.sweep_data import history, importances, parallel
from gym_gui.theme import CURVES
from gym_gui.widgets.axis_look import AXIS, MUTED, NAMES
from gym_gui.widgets.headings import heading
from mosaic.sweeps.reading import Study

_GRID = {"left": 56, "right": 16, "top": 16, "bottom": 40}


class TrialCharts:
    def __init__(self) -> None:
        self._shown: Any = None
        with ui.element("div").classes("w-full grid grid-cols-1 lg:grid-cols-2 gap-4"):
            self._history = _panel("History", "The objective of each complete trial, and the best.")
            self._importances = _panel(
                "Importances",
                "Share of the objective's variance that a hyperparameter explains by itself.",
            )
        self._parallel = _panel("Parallel coordinates", "One line for each trial.", tall=True)

    def show(self, study: Study) -> None:
        data = (history(study), importances(study), parallel(study))
        if data == self._shown:
            return
        self._shown = data
        (values, bests), shares, (axes, lines) = data
        _set(self._history, _history(values, bests))
        _set(self._importances, _importances(shares))
        _set(self._parallel, _parallel(axes, lines))


def _panel(title: str, help_text: str, *, tall: bool = False) -> ui.echart:
    with ui.column().classes("w-full mosaic-panel min-w-0 gap-1"):
        heading(title)
        ui.label(help_text).classes("mosaic-muted text-sm")
        chart = ui.echart({}).classes("w-full").style(f"height: {'20rem' if tall else '15rem'}")
        return chart.props(f'role=img aria-label="{title}"')


def _set(chart: ui.echart, options: dict[str, Any]) -> None:
    chart.options.clear()
    chart.options.update(options)
    chart.update()


def _axis(name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "nameLocation": "middle",
        "nameGap": 26,
        **(NAMES if more.get("type") == "category" else AXIS),
        **more,
    }


def _history(values: list[list[float]], bests: list[list[float]]) -> dict[str, Any]:
    return {
        "animation": False,
        "grid": _GRID,
        "xAxis": _axis("trial", type="value", minInterval=1),
        "yAxis": _axis("", type="value", scale=True),
        "tooltip": {"trigger": "item"},
        "series": [
            {"name": "trial", "type": "scatter", "data": values, "color": CURVES[0]},
            {
                "name": "best",
                "type": "line",
                "data": bests,
                "color": CURVES[1],
                "step": "end",
                "showSymbol": False,
            },
        ],
    }


def _importances(shares: dict[str, float]) -> dict[str, Any]:
    if not shares:
        text = "Six trials are needed."
        return {"title": {"text": text, "left": "center", "top": "middle",
                          "textStyle": {":color": MUTED, "fontSize": 14}}}  # fmt: skip
    names = list(reversed(shares))
    return {
        "animation": False,
        "grid": {**_GRID, "left": 140},
        "xAxis": _axis("share", type="value", min=0, max=1),
        "yAxis": _axis("", type="category", data=names),
        "series": [
            {
                "type": "bar",
                "color": CURVES[0],
                "data": [round(shares[name], 3) for name in names],
                "label": {"show": True, "position": "right", ":color": MUTED},
            }
        ],
    }


def _parallel(axes: list[dict[str, Any]], lines: list[list[Any]]) -> dict[str, Any]:
    last = [line[-1] for line in lines]
    colours = {"nameTextStyle": {":color": MUTED}, "axisLabel": {":color": MUTED}}
    named = [{**axis, **colours} for axis in axes]
    return {
        "animation": False,
        "parallel": {"left": 60, "right": 80, "top": 40, "bottom": 24},
        "parallelAxis": named,
        "visualMap": {
            "show": False,
            "dimension": len(axes) - 1,
            "min": min(last, default=0),
            "max": max(last, default=1),
            "inRange": {"color": ["#b8c4d6", CURVES[0], CURVES[1]]},
        },
        "series": [{"type": "parallel", "lineStyle": {"width": 1.5}, "data": lines}],
    }
