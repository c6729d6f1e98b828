"""A button that copies the command which does the same as the action beside it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from nicegui import ui

from mosaic.contracts.errors import MosaicError

Words = Sequence[str] | Callable[[], Sequence[str]]


def command_text(words: Sequence[str]) -> str:
    """Return the command as a shell reads it; the words are those after `mosaic`."""
    return shlex.join(["mosaic", *words])


def copy_command(words: Words, *, label: str = "Copy as command") -> ui.button:
    """Add the button; words that depend on a form are asked for when it is pressed."""

    def copy() -> None:
        try:
            text = command_text(words() if callable(words) else words)
        except MosaicError as error:
            ui.notify(error.one_line(), type="negative", multi_line=True)
            return
        ui.clipboard.write(text)
        # Shown as well: where the page has no secure origin, browsers do not let us copy.
        ui.notify(f"Copied: {text}", multi_line=True, close_button="Close", timeout=8000)

    return ui.button(label, icon="content_copy", on_click=copy).props("flat dense no-caps")
