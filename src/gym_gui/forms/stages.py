"""The stages of a curriculum, one below the other, in the train form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from gym_gui.forms.draft import TrainDraft
from mosaic.contracts.curriculum import (
    DEFAULT_CONDITION,
    PRESETS,
    named_schedule,
    parse_condition,
    parse_schedule,
)
from mosaic.contracts.errors import ConfigError

_NAME = "curriculum_schedule"
_HELP = (
    "Environments that are trained on one after the other, without a restart. Their spaces must be "
    "the same. The last stage runs to the end of the budget."
)


class StageList:
    """An ordered list of environments, each with the condition that ends it."""

    def __init__(self, draft: TrainDraft, on_env: Callable[[str], None]) -> None:
        self._draft = draft
        self._on_env = on_env
        self._stages = _as_rows(draft.given.get(_NAME))
        title = "Curriculum"
        with ui.expansion(title, value=bool(self._stages)).classes("w-full mosaic-panel !p-0"):
            ui.label(_HELP).classes("mosaic-muted pb-2")
            self._rows = ui.column().classes("w-full gap-2")
            with ui.row().classes("w-full items-center gap-2 pt-2"):
                ui.button("Add stage", icon="add", on_click=self._add).props("outline no-caps")
                ui.select(
                    ["", *PRESETS], label="Preset", value="", on_change=self._take_preset
                ).props("outlined dense").classes("w-72")
        self._show()

    def check(self) -> None:
        """Refuse to go on while a stage is wrong."""
        if self._stages:
            parse_schedule(self._document())

    def _show(self) -> None:
        self._rows.clear()
        with self._rows:
            for index in range(len(self._stages)):
                self._row(index)

    def _row(self, index: int) -> None:
        stage = self._stages[index]
        is_last = index == len(self._stages) - 1
        with ui.row().classes("w-full items-start gap-2 no-wrap max-sm:flex-wrap"):
            ui.label(f"{index + 1}.").classes("mosaic-number pt-2")
            env = ui.input("Environment id", value=stage["env_id"]).classes("grow")
            env.props("outlined dense hide-bottom-space")
            env.on_value_change(lambda event: self._change(index, "env_id", event.value))
            until = ui.input(
                "Until",
                value="" if is_last else stage["until"],
                validation=_check_condition,
            ).classes("grow")
            until.props("outlined dense hide-bottom-space")
            until.props["hint"] = (
                "The last stage runs to the budget."
                if is_last
                else f"Such as episode_return>=0.8|steps>=200000. Empty: {DEFAULT_CONDITION}."
            )
            until.set_enabled(not is_last)
            until.on_value_change(lambda event: self._change(index, "until", event.value))
            self._small("arrow_upward", "Earlier", lambda: self._move(index, -1), index > 0)
            self._small("delete", "Remove", lambda: self._remove(index), True)

    def _small(self, icon: str, text: str, act: Callable[[], None], is_on: bool) -> None:
        button = ui.button(icon=icon, on_click=act).props(f"flat round dense aria-label='{text}'")
        button.set_enabled(is_on)

    # What the user does

    def _add(self) -> None:
        env_id = self._stages[-1]["env_id"] if self._stages else self._draft.env_id
        self._stages.append({"env_id": env_id, "until": ""})
        self._settle()

    def _remove(self, index: int) -> None:
        del self._stages[index]
        self._settle()

    def _move(self, index: int, by: int) -> None:
        self._stages.insert(index + by, self._stages.pop(index))
        self._settle()

    def _change(self, index: int, name: str, value: Any) -> None:
        self._stages[index][name] = (value or "").strip()
        self._give()

    def _take_preset(self, event: Any) -> None:
        preset = named_schedule(event.value or "")
        if preset is not None:
            self._stages = _as_rows(preset)
            self._settle()

    def _settle(self) -> None:
        self._give()
        self._show()

    def _give(self) -> None:
        """Put the stages into the draft; the run is for the environment of the last one."""
        if self._stages:
            self._draft.given[_NAME] = self._document()
            self._on_env(self._stages[-1]["env_id"])
        else:
            self._draft.given.pop(_NAME, None)

    def _document(self) -> list[dict[str, Any]]:
        return [{key: value for key, value in row.items() if value} for row in self._stages]


def _check_condition(text: str | None) -> str | None:
    try:
        if (text or "").strip():
            parse_condition(str(text))
    except ConfigError as error:
        return error.one_line()
    return None


def _as_rows(schedule: Any) -> list[dict[str, str]]:
    """Return stages as the form shows them: every condition in `until`."""
    if not schedule:
        return []
    try:
        stages = parse_schedule(schedule)
    except ConfigError:
        return []
    conditions = ["" if stage.condition is None else str(stage.condition) for stage in stages]
    return [
        {"env_id": stage.env_id, "until": until}
        for stage, until in zip(stages, conditions, strict=True)
    ]
