"""A page or a list with nothing in it: why, and what to do."""

from __future__ import annotations

from nicegui import ui


def empty(why: str, *, action: str = "", path: str = "") -> None:
    with ui.column().classes("w-full items-center py-12 gap-3 mosaic-panel"):
        ui.label(why).classes("text-center mosaic-muted")
        if action:
            ui.button(action, on_click=lambda: ui.navigate.to(path))
