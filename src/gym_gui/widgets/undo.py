"""What was just done, at the foot of the page, with the way back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

# Long enough to read it and to reach the button; the bin holds what was deleted much longer.
_SHOWN_S = 15.0


class UndoBar:
    """One bar for a page: what comes next takes the place of what was."""

    def __init__(self) -> None:
        with (
            ui.row()
            .classes("fixed bottom-4 left-1/2 -translate-x-1/2 z-50 items-center mosaic-panel")
            .classes("shadow-lg no-wrap py-2 max-w-[95vw]")
            .props("role=status") as self._bar
        ):
            self._text = ui.label()
            self._button = ui.button("Undo", icon="undo", on_click=self._back).props("no-caps")
            ui.button(icon="close", on_click=self._hide).props(
                "flat round dense color=secondary aria-label='Dismiss'"
            )
        self._undo: Callable[[], Awaitable[None]] | None = None
        self._timer = ui.timer(_SHOWN_S, self._hide, active=False)
        self._bar.set_visibility(False)

    def show(self, text: str, undo: Callable[[], Awaitable[None]]) -> None:
        self._text.set_text(text)
        self._undo = undo
        self._bar.set_visibility(True)
        self._timer.deactivate()
        self._timer.activate()

    async def _back(self) -> None:
        undo, self._undo = self._undo, None
        self._hide()
        if undo is not None:
            await undo()

    def _hide(self) -> None:
        self._timer.deactivate()
        self._bar.set_visibility(False)
