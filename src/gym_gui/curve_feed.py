"""The curves of one run, as they grow, with those of the runs that it continues before them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from gym_gui.axes import EPISODES_TAG, SPEED_TAG, Ruler, episode_ruler, time_ruler
from gym_gui.curves import MOST_POINTS, Curve, join, read_curve, refine, thin, until
from gym_gui.live import Live
from mosaic.client.asynchronous import AsyncClient
from mosaic.client.faults import DaemonFault
from mosaic.contracts.errors import MosaicError, NotFound
from mosaic.contracts.metrics import find_metric
from mosaic.contracts.worker_config import extract_worker_config
from mosaic.proto import trainer_pb2 as pb

_SNAPSHOT_POINTS = 1_000
_EARLIER_POINTS = 500
# Whoever logs more than this gets the first ones; charts of the others are a filter away.
_MOST_TAGS = 80
_MOST_ANCESTORS = 20
_RETRY_S = 1.0
_CSV_POINTS = 20_000

STAGE_TAG = "curriculum/current_stage"
_CHECKPOINT = re.compile(r"step-(\d{1,18})\.ckpt")


@dataclass(slots=True)
class Segment:
    """A run of a chain, and its curves. It began at a step, and the next one took over at another.

    `end` is None for the run that is looked at.
    """

    run_id: str
    start: int
    end: int | None = None
    curves: dict[str, Curve] = field(default_factory=dict)

    def part(self, curve: Curve) -> Curve:
        return curve if self.end is None else until(curve, self.end)


def stage_marks(curve: Curve) -> list[tuple[int, str]]:
    """Return where the stages of a curriculum began, but for the first."""
    marks = []
    before = 0
    for step, stage in zip(curve.last, curve.high, strict=True):
        if stage > before:
            before = int(stage)
            marks.append((step, f"stage {before + 1}"))
    return marks


class CurveFeed:
    """Follows the metrics of a run. `revision` counts up when there is something new."""

    def __init__(self, live: Live, run: pb.Run, config: Mapping[str, Any]) -> None:
        self.run_id = run.run_id
        self.revision = 0
        self.problem = ""
        self.tags: list[str] = []
        self._live = live
        self._run = run
        self._own = Segment(run.run_id, checkpoint_step(config) or 0)
        self._earlier: list[Segment] | None = None
        self._config = config
        self._wanted: tuple[str, ...] = ()
        self._task: asyncio.Task[None] | None = None
        self._first = asyncio.Event()

    def start(self) -> None:
        self._task = asyncio.create_task(self._follow())

    async def await_first(self, timeout_s: float) -> None:
        """Wait for the first curves, or for why there are none; not longer than this."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._first.wait(), timeout_s)

    @property
    def has_answered(self) -> bool:
        """Say whether it is known by now which curves there are."""
        return self._first.is_set()

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    @property
    def segments(self) -> list[Segment]:
        return [*(self._earlier or []), self._own]

    @property
    def seams(self) -> list[int]:
        """Return the steps at which one run took over from another."""
        return [segment.end for segment in self._earlier or [] if segment.end is not None]

    @property
    def marks(self) -> list[tuple[int, str]]:
        """Return the steps at which another run took over, or another stage began, and the word."""
        resumed = [(step, "resumed") for step in self.seams]
        return sorted([*resumed, *stage_marks(self.curve(STAGE_TAG))])

    def own_curves(self) -> Mapping[str, Curve]:
        return self._own.curves

    def curve(self, tag: str) -> Curve:
        """Return the whole curve, earlier runs first, as many points as can be drawn."""
        if not is_by_step(tag):  # each run counts its episodes and batches from the first
            return thin(self._own.curves.get(tag, Curve()))
        return thin(join(each.part(each.curves.get(tag, Curve())) for each in self.segments))

    def ruler(self, axis: str) -> Ruler | None:
        """Return what steps are on an axis; None on the axis of steps, and where it is unknown."""
        if axis == "time":
            return time_ruler(
                (each.start, each.part(each.curves.get(SPEED_TAG, Curve())))
                for each in self.segments
            )
        if axis == "episodes":
            return episode_ruler(self.curve(EPISODES_TAG))
        return None

    async def fetch(
        self, tag: str, low: int | None = None, high: int | None = None, *, points: int = 0
    ) -> Curve:
        """Return a finer look at some steps, or all of a curve, from the store."""
        client = self._live.need_client()
        parts = []
        for each in self.segments if is_by_step(tag) else [self._own]:
            end = min((step for step in (high, each.end) if step is not None), default=None)
            if (low is None or end is None or low <= end) and (high is None or each.start <= high):
                found = await _snapshot(
                    client, each.run_id, [tag], low, end, points or _SNAPSHOT_POINTS
                )
                parts.append(each.part(found.get(tag, Curve())))
        return join(parts)

    async def zoomed(self, tag: str, low: int, high: int) -> Curve:
        """Return the curve with a finer look at some steps put in."""
        return thin(refine(self.curve(tag), await self.fetch(tag, low, high)), 2 * MOST_POINTS)

    async def everything(self, tag: str) -> Curve:
        return await self.fetch(tag, points=_CSV_POINTS)

    async def _follow(self) -> None:
        while True:
            try:
                if await self._follow_once(self._live.need_client()):
                    return
            except NotFound as error:  # removed for good: there is nothing to come back to
                self._tell(error.one_line())
                return
            except MosaicError as error:
                self._tell(error.one_line())
            except DaemonFault as error:
                self._tell(str(error))
            await asyncio.sleep(_RETRY_S)

    def _tell(self, problem: str) -> None:
        self.problem = problem
        self.revision += 1
        self._first.set()

    async def _follow_once(self, client: AsyncClient) -> bool:
        """Read until the run ends, or until so much was added that a new snapshot is due."""
        await self._list_tags(client)
        if self._earlier is None:
            self._earlier = await find_earlier(client, self._run, self._config)
            for each in self._earlier:
                each.curves = await _snapshot(
                    client, each.run_id, self._wanted, None, each.end, _EARLIER_POINTS
                )
        async for update in client.metrics(
            self.run_id, self._wanted, follow=True, max_points=_SNAPSHOT_POINTS
        ):
            self._take(update)
            if update.is_end:
                return True
            if any(len(curve) > MOST_POINTS for curve in self._own.curves.values()):
                return False
        return False

    async def _list_tags(self, client: AsyncClient) -> None:
        found = await _tags(client, self.run_id)
        self._wanted = tuple(found[:_MOST_TAGS]) if len(found) > _MOST_TAGS else ()
        self.tags = found

    def _take(self, update: pb.MetricsUpdate) -> None:
        curves = self._own.curves
        for series in update.series:
            if update.is_snapshot:
                curves[series.tag] = read_curve(series)
            else:
                curves.setdefault(series.tag, Curve()).extend(read_curve(series))
            if series.tag not in self.tags:
                self.tags.append(series.tag)
        self._tell("")


def is_by_step(tag: str) -> bool:
    """Say whether the x of a metric is the step of its run."""
    metric = find_metric(tag)
    return metric is None or metric.axis == "step"


def checkpoint_step(config: Mapping[str, Any]) -> int | None:
    """Return the step of the checkpoint from which a worker config goes on."""
    path = (config.get("extras") or {}).get("checkpoint_path")
    match = _CHECKPOINT.fullmatch(PurePath(path).name) if isinstance(path, str) else None
    return int(match[1]) if match else None


async def find_earlier(
    client: AsyncClient, run: pb.Run, config: Mapping[str, Any]
) -> list[Segment]:
    """Return the runs that this one continues, oldest first; one that is gone ends the chain."""
    found: list[Segment] = []
    seen = {run.run_id}
    end = checkpoint_step(config)
    while run.mode == "resume_training" and run.parent_run_id and end is not None:
        if run.parent_run_id in seen or len(found) == _MOST_ANCESTORS:
            break
        try:
            details = await client.get_run(run.parent_run_id)
        except NotFound:
            break
        run = details.run
        seen.add(run.run_id)
        config = extract_worker_config(json.loads(details.config_json))
        start = checkpoint_step(config)
        found.insert(0, Segment(run.run_id, start or 0, end))
        end = start
    return found


async def _tags(client: AsyncClient, run_id: str) -> list[str]:
    async for update in client.metrics(run_id, only_tags=True):
        return [series.tag for series in update.series]
    return []


async def _snapshot(
    client: AsyncClient,
    run_id: str,
    tags: tuple[str, ...] | list[str],
    low: int | None,
    high: int | None,
    points: int,
) -> dict[str, Curve]:
    bounds = {"from_step": low, "to_step": high}
    given = {name: step for name, step in bounds.items() if step is not None}
    async for update in client.metrics(run_id, tags, max_points=points, **given):
        return {series.tag: read_curve(series) for series in update.series}
    return {}
