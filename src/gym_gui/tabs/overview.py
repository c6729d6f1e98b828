"""Overview: the return beside the agent, where the time goes, and the figures that matter."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from nicegui import ui

from gym_gui import formatting
from gym_gui.axes import EPISODES_TAG
from gym_gui.curves import Curve
from gym_gui.run_data import EVALUATION_TAG
from gym_gui.run_view import RunView, dig
from gym_gui.tabs.shown import Shown
from gym_gui.theme import CURVES
from gym_gui.widgets.chart import CurveChart
from gym_gui.widgets.chart_drawing import Look
from gym_gui.widgets.frame_view import FrameView
from gym_gui.widgets.headings import Facts, heading
from mosaic.contracts.paths import RunPaths
from mosaic.contracts.saved_states import read_object

_BUDGET = ("environment", "acting", "learning")


def build(view: RunView) -> Shown:
    tag = EVALUATION_TAG if view.is_evaluation else EPISODES_TAG
    with ui.element("div").classes("w-full grid grid-cols-1 lg:grid-cols-3 gap-4"):
        with ui.element("div").classes("lg:col-span-2 min-w-0"):
            chart = CurveChart(view.feed, tag, Look(), height="20rem")
        with ui.column().classes("mosaic-panel min-w-0 p-3"):
            picture = FrameView(view.run_id, height="17rem")
    with ui.element("div").classes("w-full grid grid-cols-1 lg:grid-cols-3 gap-4"):
        with ui.column().classes("mosaic-panel min-w-0"):
            heading("Key numbers")
            numbers = _Numbers(view)
        with ui.column().classes("mosaic-panel min-w-0"):
            heading("Where the time goes")
            budget = _TimeBudget(view)
        with ui.column().classes("mosaic-panel min-w-0"):
            heading("Notes")
            notes = view.extras.get("notes")
            text = notes if isinstance(notes, str) and notes else "This run has no notes."
            ui.label(text).classes("whitespace-pre-wrap break-words")

    def refresh() -> None:
        for part in (chart, picture, numbers, budget):
            part.refresh()

    return Shown(refresh, picture.close)


class _Numbers:
    """The figures; each keeps its place, known or not."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        self._facts = Facts(
            last_return="Of the last episode that ended.",
            recent_return="Mean over the last tenth of the episodes.",
            best_return="Of any episode.",
            episodes="Episodes that ended.",
            evaluation="Mean of the greedy episodes at the end, or of the last batch.",
            speed="Environment steps a second since the start.",
            started="When the first sign of work came.",
            peak_memory="The most that its processes took.",
            reserved="What the daemon set aside for it.",
            worker="The worker that runs it.",
        )
        self.refresh()

    def refresh(self) -> None:
        view, run = self._view, self._view.run
        tag = EVALUATION_TAG if view.is_evaluation else EPISODES_TAG
        returns = view.feed.own_curves().get(tag, Curve())
        speed = run.steps_per_second if run.HasField("steps_per_second") else None
        started = run.started_at if run.HasField("started_at") else None
        peak = dig(view.manifest, "resources", "peak_rss_mb")
        self._facts.show(
            last_return=formatting.number(returns.last_value),
            recent_return=formatting.number(recent_mean(returns)),
            best_return=formatting.number(returns.best()),
            episodes=f"{returns.total_count:,}",
            evaluation=_evaluation(view),
            speed=f"{formatting.count(speed)} steps/s" if speed else "–",
            started=formatting.age(started, time.time()),
            peak_memory=formatting.size(peak * 2**20) if isinstance(peak, int | float) else "–",
            reserved=_reserved(dig(view.manifest, "resources", "reserved")),
            worker=run.worker_id,
        )


class _TimeBudget:
    """Shares of the run's time as one bar, each with its name and its number."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        self._parts: dict[str, ui.element] = {}
        self._labels: dict[str, ui.label] = {}
        self._why = ui.label().classes("mosaic-muted")
        with ui.column().classes("w-full gap-2") as self._body:
            self._build()
        self.refresh()

    def _build(self) -> None:
        with ui.row().classes("w-full no-wrap gap-0 rounded overflow-hidden").style("height: 1rem"):
            for name, color in zip((*_BUDGET, "other"), CURVES, strict=False):
                self._parts[name] = ui.element("div").style(
                    f"background: {color}; width: 0; height: 100%"
                )
        for name, color in zip((*_BUDGET, "other"), CURVES, strict=False):
            with ui.row().classes("items-center gap-2"):
                ui.element("span").style(
                    f"background: {color}; width: .8rem; height: .8rem; border-radius: 2px"
                )
                self._labels[name] = ui.label()

    def refresh(self) -> None:
        shares = time_shares(self._view.feed.own_curves())
        self._body.set_visibility(bool(shares))
        self._why.set_visibility(not shares)
        self._why.set_text("" if shares else _why_untold(self._view))
        for name, part in self._parts.items():
            share = shares.get(name)
            part.style(f"width: {100 * (share or 0):.1f}%")
            self._labels[name].set_text(f"{name}: {'–' if share is None else f'{share:.0%}'}")


def _why_untold(view: RunView) -> str:
    if view.is_evaluation:
        return "An evaluation only plays: there is nothing to divide."
    if view.has_ended:
        return "This run told nothing of it."
    return "The run tells with its first update."


def time_shares(curves: Mapping[str, Curve]) -> dict[str, float]:
    """Return the shares of the last update, and what they leave; nothing where none was told."""
    told = {name: curves.get(f"time/{name}", Curve()).last_value for name in _BUDGET}
    shares = {name: value for name, value in told.items() if value is not None and 0 <= value <= 1}
    return {**shares, "other": max(0.0, 1.0 - sum(shares.values()))} if shares else {}


def recent_mean(returns: Curve) -> float | None:
    """Return the mean over the last tenth of a curve."""
    values = returns.mean[-max(1, len(returns) // 10) :]
    return sum(values) / len(values) if values else None


def _evaluation(view: RunView) -> str:
    if view.is_evaluation:
        return summary_line(read_object(RunPaths(view.run_dir).evaluation_summary))
    value = dig(view.manifest, "metrics", "final", EVALUATION_TAG)
    return f"{formatting.number(value)}" if isinstance(value, int | float) else "–"


def summary_line(summary: Mapping[str, Any]) -> str:
    """Return the last batch of an evaluation; a dash where there is none yet."""
    names = ("batch_index", "episodes", "avg_return", "min_return", "max_return")
    values = [summary.get(name) for name in names]
    if not all(isinstance(value, int | float) for value in values):
        return "–"
    batch, episodes, mean, low, high = values
    return f"batch {batch}: {mean:.1f} over {episodes} episodes ({low:.1f} to {high:.1f})"


def _reserved(reserved: Any) -> str:
    if not isinstance(reserved, Mapping):
        return "–"
    parts = [f"{reserved.get('cpus')} CPU", f"{reserved.get('memory_mb')} MB"]
    return ", ".join([*parts, f"{reserved['gpus']} GPU"] if reserved.get("gpus") else parts)
