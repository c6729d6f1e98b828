"""How far a run is: what its events say, and the line that shows it."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mosaic.cli.formatting import format_clock, format_count, format_score
from mosaic.contracts.events import Event

RETURN_TAG = "charts/episodic_return"
EVALUATION_TAG = "eval/episodic_return"
RECENT_EPISODES = 20
RATE_WINDOW_S = 15.0  # long enough to smooth updates, short enough to follow a change of pace

_BAR_WIDTHS = (8, 30)


class Progress:
    """The state of one run, fed by its events."""

    def __init__(
        self,
        label: str,
        total_steps: int | None,
        clock: Callable[[], float] = time.monotonic,
        *,
        unit: str = "steps",
    ) -> None:
        self.label = label
        self.total_steps = total_steps  # None: until somebody stops it
        self.unit = unit
        self.step = 0
        self.returns: deque[float] = deque(maxlen=RECENT_EPISODES)
        self.is_evaluating = False
        self.waiting = "starting"  # what a run without a step does
        self.standstill = ""  # why a run that has begun does not go on
        self._clock = clock
        self._started = clock()
        self._marks: deque[tuple[float, int]] = deque([(self._started, 0)])

    def update(self, event: Event) -> None:
        if event.event != "metric":
            return
        points = event.payload.get("points")
        points = points if isinstance(points, Mapping) else {}
        self.add_returns(_values(points.get(RETURN_TAG)))
        self.is_evaluating = self.is_evaluating or EVALUATION_TAG in points
        step = event.payload.get("step")
        if isinstance(step, int):
            self.advance(step)

    def add_returns(self, values: Iterable[float]) -> None:
        self.returns.extend(value for value in values if math.isfinite(value))

    def advance(self, step: int) -> None:
        """Note how far the run is; what is older than the last word of it changes nothing."""
        if step <= self.step:
            return
        now = self._clock()
        if self.step == 0:  # the time before the first point was start-up, not training
            self._marks.clear()
        self.step = step
        self._marks.append((now, step))
        while len(self._marks) > 2 and now - self._marks[0][0] > RATE_WINDOW_S:
            self._marks.popleft()

    @property
    def hold(self) -> str:
        """Why the run does not go on, or has not begun."""
        return self.waiting if self.step == 0 else self.standstill

    @property
    def elapsed_s(self) -> float:
        return self._clock() - self._started

    @property
    def recent_return(self) -> float | None:
        """The mean return of the last episodes."""
        return sum(self.returns) / len(self.returns) if self.returns else None

    @property
    def steps_per_second(self) -> float | None:
        (first, low), (last, high) = self._marks[0], self._marks[-1]
        return (high - low) / (last - first) if last > first else None

    @property
    def seconds_left(self) -> float | None:
        rate = self.steps_per_second
        if not rate or self.total_steps is None:
            return None
        return max(0, self.total_steps - self.step) / rate

    def line(self, width: int, *, with_bar: bool = True) -> str:
        """Return the state in at most `width` characters; what does not fit is left out."""
        if self.step == 0:
            return _clip(f"{self.label}  {self.waiting}", width)
        for parts in self._layouts():
            text = "  ".join(parts)
            room = width - len(text) - 2
            if with_bar and self.total_steps is not None and room >= _BAR_WIDTHS[0]:
                bar = _bar(self.step / self.total_steps, min(room, _BAR_WIDTHS[1]))
                return "  ".join([parts[0], bar, *parts[1:]])
            if (not with_bar or self.total_steps is None) and room >= -2:
                return text
        return _clip("  ".join(self._layouts()[-1]), width)

    def _layouts(self) -> list[list[str]]:
        """Return the parts of the line, from the fullest form to the barest."""
        steps = format_count(self.step)
        if self.total_steps is not None:
            steps += f"/{format_count(self.total_steps)}"
        score = format_score(self.recent_return)
        rate = "-" if self.steps_per_second is None else format_count(self.steps_per_second)
        ending, short_ending = self._endings()
        name = self.label.split()[0]
        return [
            [
                self.label,
                f"{steps} {self.unit}",
                f"return {score}",
                f"{rate} {self.unit}/s",
                ending,
            ],
            [self.label, steps, f"return {score}", f"{rate}/s", ending],
            [name, steps, f"return {score}", f"{rate}/s", ending],
            [name, steps, f"return {score}", f"{rate}/s", short_ending],
            [steps, score, f"{rate}/s", short_ending],
        ]

    def _endings(self) -> tuple[str, str]:
        """Return the last part of the line, in words and short."""
        if self.standstill:
            return self.standstill, self.standstill
        if self.is_evaluating:
            return "evaluating", "eval"
        if self.total_steps is None:
            clock = format_clock(self.elapsed_s)
            return f"for {clock}", clock
        left = "-:--" if self.seconds_left is None else format_clock(self.seconds_left)
        return f"{left} left", left


def _values(points: Any) -> list[float]:
    """Return the finite values of a series of [step, value]."""
    found = []
    for point in points if isinstance(points, list) else ():
        value = point[1] if isinstance(point, list) and len(point) > 1 else None
        if isinstance(value, int | float) and math.isfinite(value):
            found.append(float(value))
    return found


def _bar(share: float, width: int) -> str:
    filled = min(width, max(0, int(share * width)))
    return "━" * filled + "─" * (width - filled)


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"
