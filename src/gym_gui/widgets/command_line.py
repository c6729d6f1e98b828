"""A command in full, with a button that copies it."""

from __future__ import annotations

from nicegui import ui


def command_line(text: str) -> None:
    with ui.row().classes("items-center gap-2 no-wrap min-w-0 max-w-full"):
        ui.label(text).classes("mosaic-mono break-all grow")

        def copy() -> None:
            ui.clipboard.write(text)
            ui.notify("Copied.")

        ui.button(icon="content_copy", on_click=copy).props(
            "flat round dense aria-label='Copy the command'"
        )
