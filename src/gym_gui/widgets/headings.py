"""Headings that a screen reader finds, and rows of a name and a value."""

from __future__ import annotations

from nicegui import ui


def heading(text: str, level: int = 2) -> ui.label:
    sizes = {1: "text-xl", 2: "text-lg", 3: "text-base"}
    label = ui.label(text).classes(f"{sizes[level]} font-bold break-words min-w-0")
    return label.props(f"role=heading aria-level={level}")


class Facts:
    """Named values in two columns; each can be told of a change, and its place stays."""

    def __init__(self, **helps: str) -> None:
        """Add a row for each name; underscores are spaces. The value explains what it means."""
        self._values: dict[str, ui.label] = {}
        with ui.element("dl").classes("grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 m-0"):
            for name, help_text in helps.items():
                with ui.element("dt").classes("mosaic-muted"):
                    ui.label(name.replace("_", " ")).tooltip(help_text)
                with ui.element("dd").classes("m-0 min-w-0"):
                    self._values[name] = ui.label("–").classes("mosaic-number break-words")

    def show(self, **values: str) -> None:
        for name, value in values.items():
            self._values[name].set_text(value or "–")
