"""Fields side by side, and the switch that hides those that are as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nicegui import ui

from gym_gui.forms.fields import Field
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.parameters import Parameter

_GRID = "w-full grid gap-x-4 gap-y-3 grid-cols-1 sm:grid-cols-2 xl:grid-cols-3 items-start"


@contextmanager
def grid() -> Iterator[ui.element]:
    with ui.element("div").classes(_GRID) as element:
        yield element


@contextmanager
def action_bar() -> Iterator[ui.row]:
    """The buttons of a form, in sight while it is scrolled; a phone has no room for that."""
    with ui.row().classes(
        "w-full items-center gap-2 mosaic-panel !py-2 sm:sticky bottom-0 z-10"
    ) as row:
        yield row


def heading(text: str, level: int = 2) -> ui.label:
    size = {1: "text-2xl", 2: "text-lg"}.get(level, "text-base")
    return ui.label(text).classes(f"{size} font-semibold").props(f"role=heading aria-level={level}")


class FieldSet:
    """Fields by name. `give` takes a name and a value that was checked."""

    def __init__(self, give: Callable[[str, Any], None]) -> None:
        self.fields: dict[str, Field] = {}
        self._give = give

    def add(
        self, parameter: Parameter, shown: Any, base: Any, *, label: str | None = None
    ) -> Field:
        name = parameter.name
        field = Field(parameter, shown, base, lambda value: self._give(name, value), label=label)
        self.fields[name] = field
        return field

    def add_all(self, parameters: Iterable[Parameter], shown: Mapping[str, Any]) -> None:
        with grid():
            for parameter in parameters:
                value = shown.get(parameter.name, parameter.default)
                self.add(parameter, value, parameter.default)

    def forget(self, names: Iterable[str]) -> None:
        for name in names:
            self.fields.pop(name, None)

    def check(self) -> None:
        """Refuse to go on while a field is wrong; it is named."""
        for field in self.fields.values():
            if field.error is not None:
                raise ConfigError(field.error)

    def show_changed_only(self, is_on: bool, names: Iterable[str]) -> None:
        for name in names:
            field = self.fields[name]
            field.box.set_visibility(not is_on or field.is_changed)
