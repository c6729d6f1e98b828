"""A run's state: a symbol, a word and a colour, always all three."""

from __future__ import annotations

from nicegui import ui

from gym_gui.theme import state_words
from mosaic.proto import trainer_pb2 as pb


class StateMark:
    """The mark of one run, which can be told of a change."""

    def __init__(self, run: pb.Run) -> None:
        with ui.element("span").classes("mosaic-state") as self._mark:
            self._icon = ui.icon("help")
            self._word = ui.label()
        self.show(run)

    def show(self, run: pb.Run) -> None:
        word, icon, light, dark = state_words(run.state, run.outcome)
        if run.is_cancelling:
            word = "stopping"
        self._mark.style(f"--light: {light}; --dark: {dark}")
        self._icon.name = icon
        self._word.set_text(word)
