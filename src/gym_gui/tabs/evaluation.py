"""Evaluation: how the returns of the last batch are spread, its extremes, and another beside it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nicegui import ui

from gym_gui import formatting
from gym_gui.run_files import file_address
from gym_gui.run_view import RunView
from gym_gui.tabs.shown import Shown
from gym_gui.widgets.axis_look import AXIS, MUTED, NAMES
from gym_gui.widgets.empty import empty
from mosaic.client.faults import DaemonFault
from mosaic.contracts.errors import MosaicError
from mosaic.contracts.evaluation_statistics import compare_summaries, histogram, returns_by_seed
from mosaic.contracts.paths import RunPaths
from mosaic.contracts.saved_states import read_object

_NONE = "No batch yet: the figures of an evaluation come with its first whole batch."
_NOT_ONE = "This run trains. 'Evaluate' on the page Policies plays what it has learned."
_COLOURS = ("#1d4ed8", "#c2410c")


def build(view: RunView) -> Shown:
    panel = _Panel(view)
    return Shown(panel.refresh)


class _Panel:
    def __init__(self, view: RunView) -> None:
        self._view = view
        self._shown: Any = None
        self._body = ui.column().classes("w-full gap-4")

    async def refresh(self) -> None:
        view = self._view
        summary = await asyncio.to_thread(read_object, RunPaths(view.run_dir).evaluation_summary)
        other = await self._other()
        now = (summary.get("updated_at"), other and other.get("updated_at"))
        if now == self._shown:
            return
        self._shown = now
        self._body.clear()
        with self._body:
            if not summary:
                empty(_NONE if view.run.mode == "policy_eval" else _NOT_ONE)
                return
            _figures(summary)
            _chart(summary, other)
            if other is not None:
                _comparison(summary, other)
            self._highlights(summary)

    async def _other(self) -> Mapping[str, Any] | None:
        """Read the evaluation that this one is compared with, if the address names one."""
        named = self._view.query.get("against")
        client = self._view.live.client
        if not named or client is None:
            return None
        try:
            details = await client.get_run(named)
        except (MosaicError, DaemonFault):
            return None
        path = RunPaths(Path(details.run_dir)).evaluation_summary
        return await asyncio.to_thread(read_object, path) or None

    def _highlights(self, summary: Mapping[str, Any]) -> None:
        found = summary.get("highlights")
        with ui.element("div").classes("w-full grid grid-cols-1 md:grid-cols-3 gap-4"):
            for name, each in (found if isinstance(found, dict) else {}).items():
                with ui.column().classes("mosaic-panel gap-1 min-w-0"):
                    ui.label(f"{name.capitalize()} episode").classes("font-semibold")
                    ui.label(
                        f"return {formatting.number(each.get('return'))} · {each.get('length')} "
                        f"steps · seed {each.get('seed')}"
                    ).classes("mosaic-number")
                    if each.get("video"):
                        address = file_address(self._view.run_id, str(each["video"]))
                        ui.video(address).classes("w-full").props("preload=metadata loop")
                    else:
                        ui.label("Not filmed: eval_capture_video films.").classes("mosaic-muted")


def _figures(summary: Mapping[str, Any]) -> None:
    interval = summary.get("ci95_return")
    between = ""
    if isinstance(interval, list) and all(isinstance(end, float) for end in interval):
        low, high = (formatting.number(end) for end in interval)
        between = f", 95 % interval of the mean {low} to {high}"
    ui.label(
        f"Batch {summary.get('batch_index')}: {summary.get('episodes')} episodes, mean return "
        f"{formatting.number(summary.get('avg_return'))}{between}."
    ).classes("font-semibold").props("role=status")


def _chart(summary: Mapping[str, Any], other: Mapping[str, Any] | None) -> None:
    """Draw the bars; two evaluations share their edges."""
    own = list(returns_by_seed(summary).values())
    others = [] if other is None else list(returns_by_seed(other).values())
    edges, _ = histogram([*own, *others])
    if not edges:
        return
    middles = [f"{(low + high) / 2:.4g}" for low, high in itertools.pairwise(edges)]
    series = [("this evaluation", own), *([("the other", others)] if others else [])]
    chart = ui.echart(
        {
            "animation": False,
            "aria": {"enabled": True},
            "legend": {"show": len(series) > 1, "textStyle": {":color": MUTED}},
            "tooltip": {"trigger": "axis"},
            "grid": {"left": 8, "right": 18, "top": 26, "bottom": 24, "containLabel": True},
            "xAxis": {"type": "category", "data": middles, "name": "return", **NAMES},
            "yAxis": {"type": "value", "name": "episodes", "minInterval": 1, **AXIS},
            "series": [
                {"type": "bar", "name": name, "data": _counts(values, edges), "color": colour}
                for (name, values), colour in zip(series, _COLOURS, strict=False)
            ],
        }
    )
    chart.classes("w-full h-72 mosaic-panel").props('role=img aria-label="Histogram of returns"')


def _counts(values: list[float], edges: list[float]) -> list[int]:
    """Count the values between the edges; the last bar holds its upper edge as well."""
    counts = [0] * (len(edges) - 1)
    width = (edges[-1] - edges[0]) / len(counts) or 1.0
    for value in values:
        counts[min(int((value - edges[0]) / width), len(counts) - 1)] += 1
    return counts


def _comparison(summary: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    paired = compare_summaries(summary, other)
    if not paired.episodes:
        ui.label("The two have played no episode with the same seed.").classes("mosaic-muted")
        return
    verdict = "no clear difference"
    if paired.is_clear:
        verdict = "this one is better" if paired.difference > 0 else "the other is better"
    ui.label(
        f"On the same {paired.episodes} seeds: {paired.difference:+.3g} an episode, 95 % interval "
        f"{paired.low:+.3g} to {paired.high:+.3g}: {verdict}. More in {paired.wins} episodes, the "
        f"same in {paired.ties}, less in {paired.losses}."
    )
