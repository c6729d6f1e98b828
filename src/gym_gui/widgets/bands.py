"""Curves with bands in one chart: each a mean over runs, and how far it is to be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nicegui import ui

from gym_gui.seeds import Band, smooth
from gym_gui.theme import CURVES
from gym_gui.widgets.axis_look import AXIS, MUTED, PANEL

# Colours repeat after eight curves; the strokes tell those apart, and help in print.
_STROKES = ("solid", "dashed", "dotted")
# A band may lengthen the axis by this share of what the means span, at each end.
_BAND_ROOM = 0.4

# The names of runs come from outside: the tooltip is drawn as text ("richText"), never as HTML.
_TOOLTIP = """(items) => {
  const text = value => Number(Number(value).toPrecision(4)).toLocaleString('en');
  const rows = items.filter(item => String(item.seriesId).startsWith('mean'));
  if (!rows.length) return '';
  return ['step ' + text(rows[0].value[0])].concat(rows.map(row => {
    const [, mean, low, high, runs] = row.value;
    const band = high > low ? ' (' + text(low) + ' to ' + text(high) + ')' : '';
    return row.marker + row.seriesName + ': ' + text(mean) + band + ', ' + runs
      + (runs === 1 ? ' run' : ' runs');
  })).join('\\n');
}"""
# The chart is painted in the colours of the theme, which may change while it is shown.
_FOLLOW_THEME = """<script>
document.addEventListener('DOMContentLoaded', () => new MutationObserver(() =>
  window.socket && emitEvent('mosaic_theme')).observe(document.body,
    {attributes: true, attributeFilter: ['class']}));
</script>"""


@dataclass(frozen=True, slots=True)
class NamedBand:
    """A curve of the chart."""

    name: str
    band: Band


class BandChart:
    """One chart that is told of its curves again and again."""

    def __init__(self) -> None:
        ui.add_head_html(_FOLLOW_THEME)
        self._chart = (
            ui.echart(_options([], "", smoothing=0.0, has_band=True))
            .classes("w-full h-[26rem]")
            .props("role=img aria-label='Curves; the table below has their last values'")
        )
        ui.on("mosaic_theme", self._chart.update)

    def show(
        self, bands: Sequence[NamedBand], unit: str, *, smoothing: float, has_band: bool
    ) -> None:
        made = _options(bands, unit, smoothing=smoothing, has_band=has_band)
        if made != self._chart.options:
            self._chart.options.clear()
            self._chart.options.update(made)
            self._chart.update()


def colour(index: int) -> str:
    return CURVES[index % len(CURVES)]


def _options(
    bands: Sequence[NamedBand], unit: str, *, smoothing: float, has_band: bool
) -> dict[str, Any]:
    series: list[dict[str, Any]] = []
    for index, each in enumerate(bands):
        series += _series(index, each, smoothing=smoothing, has_band=has_band)
    return {
        "animation": False,
        "grid": {"left": 8, "right": 24, "top": 30, "bottom": 30, "containLabel": True},
        "tooltip": {
            "trigger": "axis",
            "renderMode": "richText",
            "confine": True,
            ":formatter": _TOOLTIP,
            ":backgroundColor": PANEL,
            "textStyle": {":color": MUTED},
        },
        "toolbox": {
            "right": 8,
            "top": -4,
            "iconStyle": {":borderColor": MUTED},
            "feature": {
                "dataZoom": {"yAxisIndex": "none", "title": {"zoom": "Zoom", "back": "Back"}},
                "saveAsImage": {"name": "compare", "title": "PNG", ":backgroundColor": PANEL},
            },
        },
        "dataZoom": [{"type": "inside", "zoomOnMouseWheel": "ctrl", "filterMode": "none"}],
        "xAxis": {
            "type": "value",
            "name": "environment steps",
            "nameLocation": "middle",
            "nameGap": 26,
            **AXIS,
        },
        "yAxis": {
            "type": "value",
            "scale": True,
            "name": unit,
            **AXIS,
            **axis_ends(bands, smoothing),
        },
        "series": series,
    }


def axis_ends(bands: Sequence[NamedBand], smoothing: float) -> dict[str, float]:
    """Return where the axis of the values ends: the means set it, a wide band is cut off there."""
    means = [value for each in bands for value in smooth(each.band.mean, smoothing)]
    if not means:
        return {}
    low, high = min(means), max(means)
    if low == high:
        low, high = low - 0.5, high + 0.5
    reach = _BAND_ROOM * (high - low)
    lowest = max(low - reach, min(value for each in bands for value in each.band.low))
    highest = min(high + reach, max(value for each in bands for value in each.band.high))
    step = _round_step((max(high, highest) - min(low, lowest)) / 5)
    return {
        "min": _short(math.floor(min(low, lowest) / step) * step),
        "max": _short(math.ceil(max(high, highest) / step) * step),
    }


def _round_step(size: float) -> float:
    """Return 1, 2, 5 or 10 times a power of ten, at least as large."""
    power: float = 10.0 ** math.floor(math.log10(size))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= size * 0.999)


def _series(
    index: int, each: NamedBand, *, smoothing: float, has_band: bool
) -> list[dict[str, Any]]:
    """Return the foot of the band, the band upon it, and the mean."""
    band = each.band
    means = smooth(band.mean, smoothing)
    lows, highs = smooth(band.low, smoothing), smooth(band.high, smoothing)
    bare = {"type": "line", "showSymbol": False, "color": colour(index), "name": each.name}
    hidden = {
        **bare,
        "silent": True,
        "stack": f"band {index}",
        "stackStrategy": "all",
        "lineStyle": {"opacity": 0},
    }
    rows = list(zip(band.steps, means, lows, highs, band.runs, strict=True))
    feet = [[_short(step), _short(low)] for step, _, low, _, _ in rows] if has_band else []
    widths = (
        [[_short(step), _short(high - low)] for step, _, low, high, _ in rows] if has_band else []
    )
    stroke = _STROKES[index // len(CURVES) % len(_STROKES)]
    return [
        {**hidden, "id": f"foot {index}", "data": feet},
        {**hidden, "id": f"band {index}", "data": widths, "areaStyle": {"opacity": 0.18}},
        {
            **bare,
            "id": f"mean {index}",
            "lineStyle": {"width": 2, "type": stroke},
            "data": [[*map(_short, row[:4]), row[4]] for row in rows],
        },
    ]


def _short(value: float) -> float:
    """Return six digits, which is more than a screen can show."""
    return float(f"{value:.6g}")
