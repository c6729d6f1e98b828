"""Steps a second and settings, read from the event files that both sides write.

A speed is taken between two `charts/SPS` points: both sides write one at the end of each update
(on-policy) or every so many learning steps (off-policy), so the time between two of them holds
whole cycles of acting and learning. Only the points' steps and wall-clock times are used, not their
value, which counts from the process's first step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event

from mosaic.contracts.errors import MosaicError

SPEED_TAG = "charts/SPS"
SETTINGS_TAG = "hyperparameters/text_summary"

# Settings that say where results go or are fixed by the benchmark itself, not what is computed.
NOT_COMPARED = frozenset(
    {"exp_name", "cuda", "track", "wandb_project_name", "wandb_entity", "capture_video"}
    | {"save_model", "upload_model", "hf_entity", "torch_deterministic", "compile", "cudagraphs"}
)


class NotMeasured(MosaicError):
    """A run that gave nothing to measure, or two that cannot be compared."""


class Point(NamedTuple):
    """When a step was reached, in seconds since the epoch."""

    step: int
    wall_time: float


@dataclass(frozen=True, slots=True)
class Recording:
    """What a run left in its event files."""

    points: tuple[Point, ...]
    settings: Mapping[str, str]


def read_recording(folder: Path) -> Recording:
    """Read every event file under the folder."""
    points: list[Point] = []
    settings: dict[str, str] = {}
    for event in _events(sorted(folder.rglob("events.out.tfevents.*"))):
        for value in event.summary.value:
            if value.tag == SPEED_TAG:
                points.append(Point(event.step, event.wall_time))
            elif value.tag == SETTINGS_TAG:
                settings = parse_settings(value.tensor.string_val[0].decode())
    return Recording(tuple(sorted(points)), settings)


def _events(files: Iterable[Path]) -> Iterator[Any]:
    for file in files:
        for record in RawEventFileLoader(str(file)).Load():
            yield Event.FromString(record)


def parse_settings(table: str) -> dict[str, str]:
    """Read the Markdown table `|param|value|` of a run's settings."""
    rows = (line.strip().strip("|").split("|", 1) for line in table.splitlines()[2:])
    return {row[0]: row[1] for row in rows if len(row) == 2}


def steps_per_second(points: Iterable[Point], start: int) -> float:
    """Return the speed from the first point at or after the step `start` to the last point."""
    window = [point for point in points if point.step >= start]
    if len(window) < 2:
        raise NotMeasured(
            f"{len(window)} {SPEED_TAG} points at or after step {start}: at least 2 are needed.",
            hint="Give more --steps.",
        )
    first, last = window[0], window[-1]
    return (last.step - first.step) / (last.wall_time - first.wall_time)


def shared_settings(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that both sides have; refuse a difference."""
    shared = [name for name in theirs if name in ours and name not in NOT_COMPARED]
    for name in shared:
        if not _same(ours[name], theirs[name]):
            raise NotMeasured(
                f"{name} is {ours[name]} on our side and {theirs[name]} on CleanRL's: "
                "the two runs do not do the same work.",
                hint="Set it in the row's settings.",
            )
    return {name: theirs[name] for name in shared}


def _same(ours: str, theirs: str) -> bool:
    try:
        return float(ours) == float(theirs)
    except ValueError:
        return ours == theirs
