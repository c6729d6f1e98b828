"""A curve of pairs that are all at hand, thinned to what a screen can show."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from gym_gui.theme import CURVES
from gym_gui.widgets.axis_look import AXIS

_MOST = 1_000


class PairChart:
    def __init__(self, name: str) -> None:
        with ui.column().classes("w-full mosaic-panel p-3 min-w-0 gap-0"):
            ui.label(name).classes("font-bold truncate")
            self._chart = ui.echart(_options([])).classes("w-full").style("height: 11rem")
            self._chart.props(f'role=img aria-label="{name.replace(chr(34), "")}"')

    def show(self, pairs: list[tuple[float, float]]) -> None:
        self._chart.options["series"][0]["data"] = thinned(pairs)
        self._chart.update()


def thinned(pairs: list[tuple[float, float]], most: int = _MOST) -> list[list[float]]:
    """Return at most so many pairs: of equal stretches the lowest and the highest, in order."""
    if len(pairs) <= most:
        return [list(pair) for pair in pairs]
    stretch = -(-len(pairs) // (most // 2))
    kept: list[list[float]] = []
    for start in range(0, len(pairs), stretch):
        part = pairs[start : start + stretch]
        ends = {min(part, key=lambda pair: pair[1]), max(part, key=lambda pair: pair[1])}
        kept += [list(pair) for pair in sorted(ends)]
    return kept


def _options(data: list[list[float]]) -> dict[str, Any]:
    return {
        "animation": False,
        "grid": {"left": 56, "right": 16, "top": 12, "bottom": 28},
        "tooltip": {"trigger": "axis"},
        "xAxis": {"type": "value", **AXIS},
        "yAxis": {"type": "value", "scale": True, **AXIS},
        "series": [{"type": "line", "showSymbol": False, "color": CURVES[0], "data": data}],
    }
