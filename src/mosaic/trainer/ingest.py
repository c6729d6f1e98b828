"""From bytes of a spool to what the store keeps of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mosaic.contracts.events import EVENTS
from mosaic.trainer.store.events import StoredEvent
from mosaic.trainer.store.recordings import EpisodeRow, StepRow
from mosaic.trainer.telemetry_lines import episode_row, step_row

RETURN_TAG = "charts/episodic_return"
RATE_TAG = "charts/SPS"

ENDS = frozenset({"run_completed", "run_failed", "run_cancelled"})
# The offset moves past these, and nothing of them is stored: the next one says the same.
_PASSING = frozenset({"metric", "heartbeat"})
_TELEMETRY = frozenset({"step", "episode"})
_SHOWN_GARBAGE = 200
_LARGEST = 2**62

# tag, step, value, minimum, maximum, count
Point = tuple[str, int, float, float, float, int]


@dataclass(slots=True)
class Decoded:
    """What a part of a spool says."""

    events: list[StoredEvent] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    steps: list[StepRow] = field(default_factory=list)
    step_lines: list[bytes] = field(default_factory=list)
    episodes: list[EpisodeRow] = field(default_factory=list)
    episode_lines: list[bytes] = field(default_factory=list)
    has_worked: bool = False
    step: int | None = None
    last_return: float | None = None
    steps_per_second: float | None = None
    started: Mapping[str, Any] = field(default_factory=dict)  # what the first event says
    last_event: str | None = None  # of those that end a run
    last_payload: Mapping[str, Any] = field(default_factory=dict)
    garbage: int = 0
    first_garbage: str = ""

    @property
    def has_telemetry(self) -> bool:
        """Whether there is something for the database of metrics, steps and episodes."""
        return bool(self.points or self.steps or self.episodes)


def decode(data: bytes, offset: int, *, events_from: int, points_from: int) -> Decoded:
    """Read whole lines that begin at `offset`; lines before what is stored are left out.

    Events and points lie in two databases, each with an offset of its own: a crash between the two
    commits must lose nothing and double nothing in either.
    """
    decoded = Decoded()
    for start, line in _lines(data, offset):
        if start >= min(events_from, points_from):
            _take(decoded, start, line, start >= events_from, start >= points_from)
    return decoded


def _lines(data: bytes, offset: int) -> Iterator[tuple[int, bytes]]:
    position = 0
    while position < len(data):
        end = data.find(b"\n", position)
        end = len(data) if end < 0 else end
        if end > position:
            yield offset + position, data[position:end]
        position = end + 1


def _take(decoded: Decoded, start: int, line: bytes, is_new: bool, has_new_points: bool) -> None:
    document = _parse(line)
    if document is not None and "event" not in document:
        if not has_new_points or _take_telemetry(decoded, document, line):
            return
        document = None
    if document is None:
        if is_new:
            decoded.garbage += 1
            shown = line[:_SHOWN_GARBAGE].decode("utf-8", errors="replace")
            decoded.first_garbage = decoded.first_garbage or shown
        return
    event, payload = document["event"], document["payload"]
    if event == "metric" and has_new_points:
        _take_points(decoded, payload)
    if event == "run_started":
        decoded.started = payload
    # run_started says that the worker lives, not yet that the algorithm works.
    decoded.has_worked = decoded.has_worked or event in ("metric", "heartbeat", "checkpoint_saved")
    step = payload.get("step")
    if event in _PASSING and is_storable(step):
        decoded.step = max(step, decoded.step or 0)
    if event in ENDS:
        decoded.last_event, decoded.last_payload = event, payload
    if is_new and event not in _PASSING:
        text = line.decode("utf-8", errors="replace")
        decoded.events.append(StoredEvent(start, event, document["timestamp"], text))


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return the event of a line, or None for one that is no event of the contract's."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    if document.get("type") in _TELEMETRY and "event" not in document:
        return document
    if document.get("event") not in EVENTS:
        return None
    payload = document.get("payload")
    document["payload"] = payload if isinstance(payload, dict) else {}
    document["timestamp"] = _finite(document.get("timestamp"), 0.0)
    return document


def _take_telemetry(decoded: Decoded, document: dict[str, Any], line: bytes) -> bool:
    """Take a step or an episode; False for one that lacks what makes it one."""
    if document["type"] == "step":
        row = step_row(document)
        if row is not None:
            decoded.steps.append(row)
            decoded.step_lines.append(line)
    else:
        row = episode_row(document)
        if row is not None:
            decoded.episodes.append(row)
            decoded.episode_lines.append(line)
            decoded.last_return = _finite(document["total_reward"], decoded.last_return)
    decoded.has_worked = decoded.has_worked or row is not None
    return row is not None


def _take_points(decoded: Decoded, payload: Mapping[str, Any]) -> None:
    points = payload.get("points")
    for tag, series in points.items() if isinstance(points, dict) else ():
        for point in series if isinstance(series, list) else ():
            if (read := _read_point(tag, point)) is not None:
                decoded.points.append(read)
    values = payload.get("values")
    if isinstance(values, dict):
        decoded.last_return = _finite(values.get(RETURN_TAG), decoded.last_return)
        decoded.steps_per_second = _finite(values.get(RATE_TAG), decoded.steps_per_second)


def _read_point(tag: str, point: Any) -> Point | None:
    """Read [step, value], or [step, minimum, maximum, mean] of several that were merged.

    NaN and infinities come as text, since JSON has no numbers for them.
    """
    try:
        step, *numbers = point
        values = [float(number) for number in numbers]
        step = int(step)
    except (TypeError, ValueError, OverflowError):
        return None
    if not is_storable(step) or len(values) not in (1, 3):
        return None
    if len(values) == 1:
        return (tag, step, values[0], values[0], values[0], 1)
    # How many were merged is not told; it was more than one.
    return (tag, step, values[2], values[0], values[1], 2)


def _finite(value: Any, before: float | None) -> float | None:
    """Return the value as a number; the one before where it is none, or one that no disk holds."""
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:  # a whole number of more than three hundred digits
        return before
    return number if math.isfinite(number) else before


def is_storable(value: Any) -> bool:
    """Say whether the value is a whole number that SQLite takes."""
    return isinstance(value, int) and abs(value) <= _LARGEST
