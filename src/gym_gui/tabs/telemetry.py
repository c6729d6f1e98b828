"""Live and Replay: step by step for workers of the telemetry lane, honest words for the others."""

from __future__ import annotations

from nicegui import ui

from gym_gui.roster import lane_of
from gym_gui.run_view import RunView
from gym_gui.tabs import live_steps, replay, videos
from gym_gui.tabs.shown import Shown

BANNER = "CleanRL worker streams metrics via TensorBoard/W&B; live telemetry not available."


def build_live(view: RunView) -> Shown:
    if lane_of(view.run.worker) != "analytics":
        return live_steps.build(view)
    with ui.row().classes("w-full mosaic-panel items-center gap-4").props("role=note"):
        ui.icon("info", size="sm", color="info").props("aria-hidden=true")
        ui.label(BANNER).classes("grow")
        ui.link("Open the metric charts", f"/runs/{view.run_id}?tab=charts")
        ui.link("Watch it live in FastLane", f"/runs/{view.run_id}?tab=fastlane")
    return Shown()


def build_replay(view: RunView) -> Shown:
    if lane_of(view.run.worker) != "analytics":
        return replay.build(view)
    ui.label("A run of this worker records no steps; its videos are its replay.").classes(
        "mosaic-muted"
    )
    return videos.build(view)
