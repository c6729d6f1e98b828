"""A curve the size of a line of text: the range as a band, the mean as a line."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nicegui import ui

from gym_gui import formatting
from gym_gui.theme import CURVES
from mosaic.proto import trainer_pb2 as pb

_WIDTH, _HEIGHT = 100.0, 30.0

Point = tuple[float, float]


class Sparkline:
    """Drawn with a few shapes: a chart library for each card would be too much."""

    def __init__(self) -> None:
        self._picture = (
            ui.element("svg")
            .props(f'viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" preserveAspectRatio=none role=img')
            .classes("w-full h-12")
        )
        with self._picture:
            self._band = ui.element("polygon").props(f'fill="{CURVES[0]}" fill-opacity=0.2')
            self._line = ui.element("polyline").props(
                f'fill=none stroke="{CURVES[0]}" stroke-width=1.5 vector-effect=non-scaling-stroke'
            )
        self.show(pb.Series())

    def show(self, series: pb.Series) -> None:
        """Draw the envelope of a series; an empty one gives an empty picture of the same size."""
        band, line = shapes(series)
        self._set(self._band, "points", band)
        self._set(self._line, "points", line)
        self._set(self._picture, "aria-label", describe(series))

    def _set(self, element: ui.element, name: str, value: str) -> None:
        if element.props.get(name) != value:
            element.props[name] = value
            element.update()


def shapes(series: pb.Series) -> tuple[str, str]:
    """Return the points of the band and of the line, in the picture's own units."""
    finite = [
        (step, low, high, mean)
        for step, low, high, mean in zip(
            series.last_step, series.minimum, series.maximum, series.mean, strict=True
        )
        if all(map(math.isfinite, (low, high, mean)))
    ]
    if len(finite) < 2:
        return "", ""
    floor = min(low for _, low, _, _ in finite)
    height = max(high for _, _, high, _ in finite) - floor or 1.0
    start = finite[0][0]
    width = finite[-1][0] - start or 1

    def place(step: float, value: float) -> Point:
        return (step - start) / width * _WIDTH, _HEIGHT - (value - floor) / height * _HEIGHT

    highs = [place(step, high) for step, _, high, _ in finite]
    lows = [place(step, low) for step, low, _, _ in reversed(finite)]
    return _text([*highs, *lows]), _text([place(step, mean) for step, _, _, mean in finite])


def describe(series: pb.Series) -> str:
    """Return the curve in words, for whoever cannot see it."""
    means = [value for value in series.mean if math.isfinite(value)]
    if not means:
        return "no return yet"
    low, high = formatting.number(min(means)), formatting.number(max(means))
    return f"return: {formatting.number(means[-1])} now, between {low} and {high} so far"


def _text(points: Sequence[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
