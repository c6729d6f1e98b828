"""What pages show of a run and the list of runs does not hold; fetched once where it cannot change.

All of it is bounded: a GUI that stays open for months must not grow.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from gym_gui.run_rows import has_ended
from mosaic.client.asynchronous import AsyncClient
from mosaic.contracts.errors import NotFound
from mosaic.proto import trainer_pb2 as pb

RETURN_TAG = "charts/episodic_return"
EVALUATION_TAG = "eval/episodic_return"

# Calls at once: the daemon answers one after the other anyway, and others want an answer too.
_AT_ONCE = 8
_KEPT = 2_000

T = TypeVar("T")


class _Recent(Generic[T]):
    """The newest so many values."""

    def __init__(self, limit: int = _KEPT) -> None:
        self._limit = limit
        self._values: OrderedDict[Any, T] = OrderedDict()

    def get(self, key: Any) -> T | None:
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def put(self, key: Any, value: T) -> None:
        self._values[key] = value
        while len(self._values) > self._limit:
            self._values.popitem(last=False)


_configs: _Recent[dict[str, Any]] = _Recent()
_bests: _Recent[float] = _Recent()


def return_tag(run: pb.Run) -> str:
    return EVALUATION_TAG if run.mode == "policy_eval" else RETURN_TAG


async def fetch_configs(client: AsyncClient, run_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the run config of each run that still exists. A config never changes."""
    wanted = list(run_ids)
    missing = [run_id for run_id in wanted if _configs.get(run_id) is None]
    gate = asyncio.Semaphore(_AT_ONCE)

    async def fetch(run_id: str) -> None:
        async with gate:
            try:
                details = await client.get_run(run_id)
            except NotFound:
                return
            _configs.put(run_id, json.loads(details.config_json))

    await _all(fetch(run_id) for run_id in missing)
    return {run_id: found for run_id in wanted if (found := _configs.get(run_id)) is not None}


async def fetch_bests(client: AsyncClient, runs: Iterable[pb.Run]) -> dict[str, float]:
    """Return the best return of each run that has one; of an ended run it is kept."""
    wanted = list(runs)
    gate = asyncio.Semaphore(_AT_ONCE)
    found: dict[str, float] = {}

    async def fetch(run: pb.Run) -> None:
        kept = _bests.get(run.run_id) if has_ended(run) else None
        if kept is None:
            async with gate:
                series = await fetch_series(client, run.run_id, return_tag(run), max_points=10)
            kept = max(filter(math.isfinite, series.maximum), default=math.nan)
            if has_ended(run):
                _bests.put(run.run_id, kept)
        if math.isfinite(kept):
            found[run.run_id] = kept

    await _all(fetch(run) for run in wanted if run.HasField("last_return"))
    return found


async def fetch_series(client: AsyncClient, run_id: str, tag: str, *, max_points: int) -> pb.Series:
    """Return the envelope of one series; an empty one where the run has none, or is gone."""
    try:
        async for update in client.metrics(run_id, [tag], max_points=max_points):
            for series in update.series:
                return series
    except NotFound:
        pass
    return pb.Series(tag=tag)


async def fetch_tags(client: AsyncClient, run_id: str) -> list[str]:
    """Return the names of the series of a run."""
    try:
        async for update in client.metrics(run_id, only_tags=True):
            return [series.tag for series in update.series]
    except NotFound:
        pass
    return []


async def _all(work: Iterable[Any]) -> None:
    """Wait for all of it, then tell the first thing that went wrong."""
    for result in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
