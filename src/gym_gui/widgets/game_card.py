"""A game before it is played: what it looks like, what to do in it, and with which keys."""

from __future__ import annotations

from nicegui import ui

from gym_gui.widgets.environment_card import preview
from gym_gui.widgets.headings import heading
from mosaic.catalog.environments import Environment

_REAL_TIME = "It goes on by itself once 'Real time' is on; until then it waits for a key."
_PATIENT = "It waits for a key."


def game_card(environment: Environment | None) -> None:
    with ui.row().classes("w-full mosaic-panel gap-4 items-start"):
        if environment is None:
            ui.label("Nothing is written about this environment.").classes("mosaic-muted")
            return
        preview(environment, "w-64 h-48 max-sm:w-full rounded-lg overflow-hidden shrink-0")
        with ui.column().classes("gap-2 grow basis-64 min-w-0"):
            heading(environment.title)
            _about(environment)


def _about(environment: Environment) -> None:
    game = environment.game
    if game is not None:
        ui.label(game.goal).classes("break-words")
    if environment.why_agent_only:
        ui.label(f"A person cannot play it: {environment.why_agent_only}").props("role=status")
        return
    if game is None or not game.controls:
        ui.label(environment.family.keys).classes("mosaic-muted")
    else:
        with ui.row().classes("gap-x-4 gap-y-1"):
            for control in game.controls:
                with ui.row().classes("gap-1 items-center no-wrap"):
                    ui.label(control.text).classes("mosaic-mono mosaic-key")
                    ui.label(control.meaning)
    is_paced = game is not None and game.idle is not None
    ui.label(_REAL_TIME if is_paced else _PATIENT).classes("mosaic-muted")
