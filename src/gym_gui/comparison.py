"""Several runs side by side: which belong together, their curves, and where they differ."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_gui.curve_feed import Segment, find_earlier, is_by_step
from gym_gui.experiments import experiment_key, what_sets_apart
from gym_gui.run_data import fetch_series, fetch_tags
from gym_gui.run_rows import has_ended, title
from gym_gui.seeds import NOTHING, Band, Curve, combine, curve_of, joined, until
from mosaic.client.asynchronous import AsyncClient
from mosaic.contracts.errors import MosaicError
from mosaic.contracts.worker_config import extract_worker_config
from mosaic.proto import trainer_pb2 as pb

# More curves than this nobody can tell apart, and each is a call to the daemon.
MOST_RUNS = 100
_POINTS = 1_000
_TAGS_OF = 10


@dataclass(slots=True)
class Compared:
    """One run of the comparison."""

    run: pb.Run
    config: Mapping[str, Any]
    run_dir: Path
    curve: Curve = NOTHING
    is_final: bool = False  # the curve will not grow any more
    earlier: tuple[Segment, ...] = ()  # the runs that it continues, oldest first
    before: Curve = NOTHING  # their part of the curve


@dataclass(frozen=True, slots=True)
class Experiment:
    """Runs that are one curve, and what the curve is called."""

    name: str
    members: tuple[Compared, ...]

    def band(self, kind: str) -> Band:
        return combine([member.curve for member in self.members], band=kind)


class Comparison:
    """The runs of one page. The daemon is asked again for those that still go on."""

    def __init__(self) -> None:
        self.runs: list[Compared] = []
        self.problems: list[str] = []
        self.tags: list[str] = []

    async def load(self, client: AsyncClient, run_ids: Sequence[str]) -> None:
        """Fetch the runs; one that is not there any more is told of, and left out."""
        wanted = list(dict.fromkeys(run_ids))
        self.problems = []
        if len(wanted) > MOST_RUNS:
            self.problems.append(
                f"{len(wanted)} runs are too many to compare: these are the first {MOST_RUNS}."
            )
        found = await asyncio.gather(
            *(_details(client, run_id) for run_id in wanted[:MOST_RUNS]), return_exceptions=True
        )
        self.runs = []
        for each in found:
            if isinstance(each, MosaicError):
                self.problems.append(each.one_line())
            elif isinstance(each, BaseException):
                raise each
            else:
                self.runs.append(each)
        await self._load_tags(client)

    async def _load_tags(self, client: AsyncClient) -> None:
        known = await asyncio.gather(
            *(fetch_tags(client, each.run.run_id) for each in self.runs[:_TAGS_OF])
        )
        self.tags = sorted({tag for tags in known for tag in tags})

    async def load_curves(self, client: AsyncClient, tag: str, *, is_new: bool) -> None:
        """Fetch the curves of a metric: all of them when it is new, else those that grow."""
        wanted = [each for each in self.runs if is_new or not each.is_final]
        series = await asyncio.gather(
            *(fetch_series(client, each.run.run_id, tag, max_points=_POINTS) for each in wanted)
        )
        for each, one in zip(wanted, series, strict=True):
            if is_new:
                each.before = await _before(client, each.earlier, tag)
            each.curve = joined([each.before, curve_of(one)])
            each.is_final = has_ended(each.run)

    def update(self, known: Mapping[str, pb.Run]) -> None:
        for each in self.runs:
            newer = known.get(each.run.run_id)
            if newer is not None and newer.revision > each.run.revision:
                each.run = newer

    @property
    def is_growing(self) -> bool:
        return any(not each.is_final for each in self.runs)

    def experiments(self, *, by_seed: bool) -> list[Experiment]:
        """Return the curves of the chart: one for each experiment, or one for each run."""
        groups: dict[str, list[Compared]] = {}
        for each in self.runs:
            key = each.run.run_id if by_seed else experiment_key(each.run, each.config)
            groups.setdefault(key, []).append(each)
        members = list(groups.values())
        apart = what_sets_apart([(group[0].run, group[0].config) for group in members])
        names = [
            _name(group, text, by_seed=by_seed) for group, text in zip(members, apart, strict=True)
        ]
        return [
            Experiment(name, tuple(group))
            for name, group in zip(_unique(names), members, strict=True)
        ]


async def _details(client: AsyncClient, run_id: str) -> Compared:
    details = await client.get_run(run_id)
    config = json.loads(details.config_json)
    earlier = await find_earlier(client, details.run, extract_worker_config(config))
    return Compared(details.run, config, Path(details.run_dir), earlier=tuple(earlier))


async def _before(client: AsyncClient, earlier: Sequence[Segment], tag: str) -> Curve:
    """Return the curve up to where the run itself began; each run counts its episodes anew."""
    if not is_by_step(tag):
        return NOTHING
    parts = []
    for each in earlier:
        series = await fetch_series(client, each.run_id, tag, max_points=_POINTS)
        parts.append(until(curve_of(series), each.end))
    return joined(parts)


def _name(group: Sequence[Compared], apart: str, *, by_seed: bool) -> str:
    run = group[0].run
    parts = [title(run)] + ([apart] if apart else [])
    if by_seed:
        parts.append(f"seed {run.seed}" if run.HasField("seed") else "random seed")
    return ", ".join(parts)


def _unique(names: Iterable[str]) -> list[str]:
    """Return the names, numbered where one comes again: curves are told apart by them."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique
