"""FastLane: the run as it happens, one environment or all of them."""

from __future__ import annotations

from nicegui import ui

from gym_gui.run_view import RunView
from gym_gui.tabs.shown import Shown
from gym_gui.widgets.frame_view import GRID, FrameView

_SHARES = {0.0: "as the run says", 0.1: "10 %", 0.25: "25 %", 0.5: "50 %"}
_MOST_LANES = 16


def build(view: RunView) -> Shown:
    asked = view.query.get("lane", GRID)
    lane = asked if asked == GRID or _is_lane(asked) else GRID
    with ui.column().classes("w-full mosaic-panel gap-3"):
        with ui.row().classes("items-center gap-4"):
            chosen = ui.select(_lanes(0, lane), value=lane, label="environment").classes("w-40")
            chosen.tooltip("One of the environments that the run shows, or all of them.")
            share = ui.select(_SHARES, value=0.0, label="time for frames").classes("w-40")
            share.tooltip("Share of the run's time that frames may take while this tab is open.")
        picture = FrameView(view.run_id, lane=lane, height="min(70vh, 40rem)")

    def choose() -> None:
        picture.choose(chosen.value)
        view.remember(lane=None if chosen.value == GRID else chosen.value)

    chosen.on_value_change(choose)
    share.on_value_change(lambda: picture.ask_for(float(share.value)))

    def refresh() -> None:
        picture.refresh()
        lanes = _lanes(picture.lanes, chosen.value)
        if lanes != chosen.options:
            chosen.set_options(lanes, value=chosen.value)

    return Shown(refresh, picture.close)


def _lanes(count: int, chosen: str) -> dict[str, str]:
    names = {str(lane): f"environment {lane}" for lane in range(min(count, _MOST_LANES))}
    if chosen != GRID:  # it stays chosen while the run is away
        names.setdefault(chosen, f"environment {chosen}")
    return {GRID: "all", **names}


def _is_lane(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) < _MOST_LANES
