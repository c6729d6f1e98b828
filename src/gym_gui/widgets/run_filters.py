"""The fields above the list of runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from gym_gui.listing import STATES, RunFilters

# Typing is not a search yet.
_PAUSE_MS = 300


class FilterBar:
    """Fields that change the view; `on_change` gets the fields by name."""

    def __init__(self, filters: RunFilters, on_change: Callable[..., Any]) -> None:
        self._on_change = on_change
        self._inputs: dict[str, ui.input] = {}
        with ui.row().classes("w-full items-center gap-2"):
            self._text(
                "q", "Search", filters.q, "Part of a run's name, id, algorithm or environment"
            )
            states = {word: text for word, (text, _) in STATES.items()}
            self._state = (
                ui.select(
                    states,
                    value=filters.state,
                    label="State",
                    on_change=lambda event: on_change(state=event.value),
                )
                .props("outlined dense options-dense")
                .classes("w-40 max-sm:w-full")
                .tooltip("Only runs in this state, or that ended so")
            )
            self._text("algo", "Algorithm", filters.algo, "The whole name, such as ppo")
            self._text("env", "Environment", filters.env, "The whole id, such as CartPole-v1")
            self._clear = (
                ui.button("Clear", icon="filter_alt_off", on_click=self._forget)
                .props("flat no-caps")
                .tooltip("Show every run again")
            )
        self.show(filters)

    def _text(self, name: str, label: str, value: str, help_text: str) -> None:
        field = (
            ui.input(
                label,
                value=value,
                on_change=lambda event: self._on_change(**{name: (event.value or "").strip()}),
            )
            .props(f"outlined dense clearable debounce={_PAUSE_MS} maxlength=200")
            .classes("w-52 max-sm:w-full")
            .tooltip(help_text)
        )
        self._inputs[name] = field

    def show(self, filters: RunFilters) -> None:
        self._clear.set_visibility(filters.is_filtered)

    def suggest(self, name: str, values: set[str]) -> None:
        """Offer values that were seen, while somebody types."""
        self._inputs[name].set_autocomplete(sorted(values))

    def _forget(self) -> Any:
        for field in self._inputs.values():
            field.set_value("")
        self._state.set_value("")
