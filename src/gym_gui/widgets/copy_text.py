"""A line to be typed elsewhere, with a button that copies it."""

from __future__ import annotations

from nicegui import ui


def copy_text(text: str) -> None:
    def copy() -> None:
        ui.clipboard.write(text)
        ui.notify(f"Copied: {text}", multi_line=True)

    with ui.row().classes("items-center gap-1 no-wrap max-w-full"):
        ui.label(text).classes("mosaic-mono break-all select-all")
        button = ui.button(icon="content_copy", on_click=copy).props("flat dense round size=sm")
        button.props["aria-label"] = f"Copy: {text}"
