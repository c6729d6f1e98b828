"""From a curve to what the chart library draws: lines of pairs, and the options around them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gym_gui.axes import AXES, Ruler
from gym_gui.curves import Curve, smooth
from gym_gui.theme import CURVES

Pair = list[float | None]
Line = list[Pair]

# The order of the series: the foot of the band, the band upon it, the raw curve, the smoothed one.
NAMES = ("lowest", "range", "mean", "smoothed")


@dataclass(frozen=True, slots=True)
class Look:
    """How curves are shown; the same for all charts of a page, and kept in its address."""

    smoothing: float = 0.6
    axis: str = "steps"
    is_log: bool = False
    low: int | None = None  # steps to look at; None: from the first, to the last
    high: int | None = None


def draw(curve: Curve, ruler: Ruler | None, look: Look) -> list[Line]:
    """Return the four lines. With a logarithmic scale what is not above zero is left out."""
    xs = [_short(ruler.at(step) if ruler else float(step)) for step in curve.last]
    is_band = curve.is_envelope
    smoothed = smooth(curve.mean, look.smoothing) if look.smoothing > 0 else []
    widths = [high - low for low, high in zip(curve.low, curve.high, strict=True)]
    lows: Sequence[float] = curve.low
    if look.is_log:
        lows = [low if low > 0 else math.nan for low in lows]
        widths = [
            width if low > 0 else math.nan for low, width in zip(curve.low, widths, strict=True)
        ]
    return [
        _line(xs, lows) if is_band else [],
        _line(xs, widths) if is_band else [],
        _line(xs, curve.mean, is_log=look.is_log),
        _line(xs, smoothed, is_log=look.is_log) if smoothed else [],
    ]


def _line(xs: Sequence[float], ys: Sequence[float], *, is_log: bool = False) -> Line:
    return [
        [x, _short(y) if math.isfinite(y) and (y > 0 or not is_log) else None]
        for x, y in zip(xs, ys, strict=True)
    ]


def _short(value: float) -> float:
    """Return seven digits, more than a screen can show and half of what would be sent."""
    return float(f"{value:.7g}")


def tails(before: Sequence[Line], after: Sequence[Line]) -> list[tuple[int, Line]]:
    """Return for each line where it begins to differ, and what stands there now."""
    found = []
    for old, new in zip(before, after, strict=True):
        same = 0
        for left, right in zip(old, new, strict=False):
            if left != right:
                break
            same += 1
        found.append((same, new[same:]))
    return found


# Numbers alone reach these texts; names of metrics and runs never do.
_TOOLTIP = """(items) => {
  const text = value => value === undefined || value === null || value === '-' ? '–'
    : Number(value).toPrecision(5).replace(/\\.?0+$/, '');
  const of = name => items.find(item => item.seriesName === name)?.value?.[1];
  const low = of('lowest'), width = of('range');
  const rows = [items[0].axisValueLabel ?? items[0].axisValue];
  rows.push('mean ' + text(of('mean')));
  if (of('smoothed') !== undefined) rows.push('smoothed ' + text(of('smoothed')));
  if (low !== undefined && low !== null) rows.push(text(low) + ' to ' + text(low + width));
  return rows.join('<br>');
}"""

_COMPACT = """value => {
  const size = Math.abs(value);
  for (const [unit, letter] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']])
    if (size >= unit) return Number((value / unit).toPrecision(4)) + letter;
  return Number(Number(value).toPrecision(4));
}"""


def options(look: Look, *, x_name: str = "", marks: Sequence[tuple[float, str]] = ()) -> Any:
    """Return the options of a chart without its data, which is sent as it grows."""
    color = CURVES[0]
    bare = {"type": "line", "showSymbol": False, "animation": False, "sampling": "none"}
    hidden = {**bare, "silent": True, "lineStyle": {"opacity": 0}, "stack": "band"}
    hidden["stackStrategy"] = "all"
    is_smoothed = look.smoothing > 0
    thin = {"width": 1.5, "opacity": 0.45 if is_smoothed else 1.0, "color": color}
    return {
        "animation": False,
        "aria": {"enabled": True},
        "grid": {"left": 8, "right": 18, "top": 26, "bottom": 24, "containLabel": True},
        "tooltip": {"trigger": "axis", "confine": True, ":formatter": _TOOLTIP},
        "toolbox": {
            "right": 4,
            "top": -4,
            "itemSize": 13,
            "feature": {
                "dataZoom": {"yAxisIndex": "none", "title": {"zoom": "Zoom", "back": "Back"}}
            },
        },
        "dataZoom": [{"type": "inside", "zoomOnMouseWheel": "ctrl", "filterMode": "none"}],
        "xAxis": {
            "type": "value",
            "min": "dataMin",
            "max": "dataMax",
            "name": x_name or AXES[look.axis],
            "nameLocation": "middle",
            "nameGap": 24,
            # The ends are odd numbers, and the last would be cut off.
            "axisLabel": {
                ":formatter": _COMPACT,
                "hideOverlap": True,
                "showMinLabel": False,
                "showMaxLabel": False,
            },
            "splitLine": {"show": False},
        },
        "yAxis": {
            "type": "log" if look.is_log else "value",
            "scale": True,
            "axisLabel": {":formatter": _COMPACT},
        },
        "series": [
            {**hidden, "name": NAMES[0]},
            {**hidden, "name": NAMES[1], "areaStyle": {"color": color, "opacity": 0.18}},
            {
                **bare,
                "name": NAMES[2],
                "lineStyle": thin,
                "color": color,
                "markLine": _marks(marks),
            },
            {**bare, "name": NAMES[3], "lineStyle": {"width": 2.5, "color": color}, "color": color},
        ],
    }


def _marks(places: Sequence[tuple[float, str]]) -> dict[str, Any]:
    """Return the marks where one run took over from another, or a stage began."""
    return {
        "silent": True,
        "symbol": "none",
        "label": {"formatter": "{b}", "position": "insideEndTop"},
        "lineStyle": {"type": "dashed", "color": CURVES[1], "width": 1.5},
        "data": [{"xAxis": _short(place), "name": word} for place, word in places],
    }
