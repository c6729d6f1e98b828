"""The run bus: who looks at what, told without ever waiting for anyone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from mosaic.trainer.credits import LineWatcher
from mosaic.trainer.ingest import Point
from mosaic.trainer.store.runs import RunRecord

# Points that a subscriber may leave unread before it is told to fetch the stored curve instead.
_POINTS_LIMIT = 20_000


@dataclass(eq=False, slots=True)
class RunWatcher:
    """Somebody who watches runs: of each, the newest state is kept, however slowly it is read."""

    run_ids: frozenset[str]  # none: every run
    _news: dict[str, RunRecord] = field(default_factory=dict)
    _removed: set[str] = field(default_factory=set)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, record: RunRecord) -> None:
        if not self.run_ids or record.run_id in self.run_ids:
            self._news[record.run_id] = record
            self._changed.set()

    def put_removed(self, run_id: str) -> None:
        self._news.pop(run_id, None)
        self._removed.add(run_id)
        self._changed.set()

    async def take(self) -> tuple[list[RunRecord], set[str]]:
        """Wait for news, and return all there is."""
        await self._changed.wait()
        self._changed.clear()
        news, self._news = list(self._news.values()), {}
        removed, self._removed = self._removed, set()
        return news, removed


@dataclass(eq=False, slots=True)
class MetricWatcher:
    """Somebody who watches the curves of a run."""

    tags: frozenset[str]  # none: every tag
    is_behind: bool = False  # points were left out: fetch the stored curve
    is_ended: bool = False
    _points: list[Point] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, points: Sequence[Point]) -> None:
        self._points += [point for point in points if not self.tags or point[0] in self.tags]
        if len(self._points) > _POINTS_LIMIT:
            self._points.clear()
            self.is_behind = True
        self._changed.set()

    def end(self) -> None:
        self.is_ended = True
        self._changed.set()

    async def take(self) -> list[Point]:
        await self._changed.wait()
        self._changed.clear()
        points, self._points = self._points, []
        return points


class RunBus:
    """Subscriptions of this process; everything here happens on the event loop."""

    def __init__(self) -> None:
        self._run_watchers: set[RunWatcher] = set()
        self._metric_watchers: dict[str, set[MetricWatcher]] = {}
        self._line_watchers: dict[tuple[str, str], set[LineWatcher]] = {}  # by kind and run

    def watch_runs(self, run_ids: Sequence[str]) -> RunWatcher:
        watcher = RunWatcher(frozenset(run_ids))
        self._run_watchers.add(watcher)
        return watcher

    def watch_metrics(self, run_id: str, tags: Sequence[str]) -> MetricWatcher:
        watcher = MetricWatcher(frozenset(tags))
        self._metric_watchers.setdefault(run_id, set()).add(watcher)
        return watcher

    def watch_lines(self, kind: str, run_id: str) -> LineWatcher:
        """Watch the "steps" or the "episodes" of a run."""
        watcher = LineWatcher()
        self._line_watchers.setdefault((kind, run_id), set()).add(watcher)
        return watcher

    def leave_lines(self, kind: str, run_id: str, watcher: LineWatcher) -> None:
        watchers = self._line_watchers.get((kind, run_id), set())
        watchers.discard(watcher)
        if not watchers:
            self._line_watchers.pop((kind, run_id), None)

    def leave(self, watcher: RunWatcher | MetricWatcher) -> None:
        if isinstance(watcher, RunWatcher):
            self._run_watchers.discard(watcher)
            return
        for run_id, watchers in list(self._metric_watchers.items()):
            watchers.discard(watcher)
            if not watchers:
                del self._metric_watchers[run_id]

    def publish(self, record: RunRecord) -> None:
        for watcher in self._run_watchers:
            watcher.put(record)

    def publish_removed(self, run_id: str) -> None:
        for watcher in self._run_watchers:
            watcher.put_removed(run_id)

    def publish_points(self, run_id: str, points: Sequence[Point]) -> None:
        for watcher in self._metric_watchers.get(run_id, ()):
            watcher.put(points)

    def publish_steps(self, run_id: str, first_index: int, lines: Sequence[bytes]) -> None:
        for watcher in self._line_watchers.get(("steps", run_id), ()):
            watcher.put(first_index, lines)

    def publish_episodes(self, run_id: str, first_index: int, lines: Sequence[bytes]) -> None:
        for watcher in self._line_watchers.get(("episodes", run_id), ()):
            watcher.put(first_index, lines)

    def publish_end(self, run_id: str) -> None:
        for watcher in self._metric_watchers.get(run_id, ()):
            watcher.end()
        for kind in ("steps", "episodes"):
            for lines in self._line_watchers.get((kind, run_id), ()):
                lines.end()
