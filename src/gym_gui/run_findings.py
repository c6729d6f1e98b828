"""What the watchdogs say of the runs under way, for pages that show many of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from gym_gui.axes import SPEED_TAG
from gym_gui.curves import Curve, read_curve
from gym_gui.watchdogs import Finding, look
from mosaic.client.asynchronous import AsyncClient
from mosaic.contracts.errors import NotFound
from mosaic.proto import trainer_pb2 as pb

# Enough for the shape of a curve; what the dogs look for lasts longer than one point.
_POINTS = 200
_AT_ONCE = 4


class RunFindings:
    """The findings by run. A run that has not moved is not asked for again."""

    def __init__(self) -> None:
        self.by_run: dict[str, list[Finding]] = {}
        self._seen: dict[str, int] = {}

    async def look_at(self, client: AsyncClient, runs: Iterable[pb.Run]) -> None:
        """Look at these runs, and forget the others."""
        wanted = {run.run_id: run for run in runs}
        for known in (self.by_run, self._seen):
            for run_id in [run_id for run_id in known if run_id not in wanted]:
                del known[run_id]
        gate = asyncio.Semaphore(_AT_ONCE)
        moved = [run for run in wanted.values() if self._seen.get(run.run_id) != run.revision]
        await asyncio.gather(*(self._look_at(client, run, gate) for run in moved))

    async def _look_at(self, client: AsyncClient, run: pb.Run, gate: asyncio.Semaphore) -> None:
        async with gate:
            curves = await _curves(client, run.run_id)
        # Where a continuation began is where its first speed was told, or soon before.
        is_resumed = run.mode == "resume_training"
        speeds = curves.get(SPEED_TAG, Curve())
        start = speeds.first[0] if is_resumed and len(speeds) else 0
        self.by_run[run.run_id] = look(curves, first_step=start)
        self._seen[run.run_id] = run.revision


async def _curves(client: AsyncClient, run_id: str) -> dict[str, Curve]:
    try:
        async for update in client.metrics(run_id, max_points=_POINTS):
            return {series.tag: read_curve(series) for series in update.series}
    except NotFound:
        pass  # it went to the bin meanwhile
    return {}
