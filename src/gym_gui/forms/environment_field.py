"""The choice of an environment: by family, with its page beside it; any other id may be typed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from gym_gui.environment_filter import environment_path
from gym_gui.forms.environments import OTHER, by_family, find_environment
from gym_gui.widgets.environment_page import environment_documentation
from mosaic.catalog.families import FAMILIES

_LIST = "known-environments"


class EnvironmentField:
    """A text field with the ids of a family as suggestions."""

    def __init__(self, value: str, known: Iterable[str], on_value: Callable[[str], None]) -> None:
        self._on_value = on_value
        self._known: dict[str, list[str]] = {}
        with ui.row().classes("w-full gap-2 no-wrap items-start"):
            self._family = ui.select([], label="Family").classes("w-36 shrink-0")
            self._family.props("outlined dense options-dense hide-bottom-space")
            self._input = ui.input(
                "Environment id", value=value, validation={"Name an environment.": _is_named}
            )
            self._input.props("outlined dense hide-bottom-space debounce=300")
            self._input.classes("grow min-w-0")
        self._input.props["list"] = _LIST
        self._input.props["hint"] = "Pick one that is suggested, or type the id of any other."
        self._list = ui.element("datalist").props(f"id={_LIST}")
        with ui.row().classes("w-full items-baseline gap-x-2 gap-y-0"):
            self._goal = ui.label().classes("text-xs mosaic-muted min-w-0")
            self._about = ui.button("About it", icon="menu_book")
            self._about.props("flat dense no-caps size=sm")
        # Beside the form, which stays usable: both are read together.
        with (
            ui.dialog().props("position=right seamless") as beside,
            ui.card().classes("w-96 max-w-full !max-h-[80vh] overflow-auto gap-2"),
        ):
            close = ui.button("Close", icon="close", on_click=beside.close)
            close.props("flat dense no-caps size=sm")
            self._page = ui.column().classes("w-full gap-2")
        self._about.on_click(beside.open)
        self.suggest(known)
        self._show_page(value)
        self._family.on_value_change(self._choose_family)
        self._input.on_value_change(self._take)

    def suggest(self, known: Iterable[str]) -> None:
        """Offer these ids, those of the family of the one that stands there first."""
        self._known = by_family(known)
        titles = {name: FAMILIES[name].title for name in self._known if name != OTHER}
        if OTHER in self._known:
            titles[OTHER] = "Other"
        family = self._family_of(self._input.value or "")
        if family not in titles:
            family = next(iter(titles), "")
        self._family.set_options(titles, value=family or None)
        self._offer(family)

    def show(self, env_id: str) -> None:
        self._input.set_value(env_id)

    def _offer(self, family: str) -> None:
        self._list.clear()
        with self._list:
            for env_id in self._known.get(family, ()):
                ui.element("option").props["value"] = env_id

    def _choose_family(self, event: ValueChangeEventArguments[str | None]) -> None:
        """Offer the ids of the family, and take its first unless one of them stands there."""
        self._offer(event.value or "")
        ids = self._known.get(event.value or "", [])
        now = (self._input.value or "").strip()
        if ids and self._family_of(now) != event.value:
            self._input.set_value(ids[0])

    def _take(self, event: ValueChangeEventArguments[str | None]) -> None:
        env_id = (event.value or "").strip()
        family = self._family_of(env_id)
        if family in self._known and family != self._family.value:
            self._family.set_value(family)
        self._show_page(env_id)
        self._on_value(env_id)

    def _family_of(self, env_id: str) -> str:
        found = find_environment(env_id)
        return OTHER if found is None else found.family.name

    def _show_page(self, env_id: str) -> None:
        environment = find_environment(env_id)
        self._about.set_visibility(environment is not None)
        self._page.clear()
        with self._page:
            if environment is None:
                self._goal.set_text("No page is known for this id." if env_id else "")
                ui.label(f"No page is known for {env_id}.")
                return
            self._goal.set_text(environment.game.goal if environment.game else "")
            environment_documentation(environment)
            ui.link("Its whole page", environment_path(environment.id), new_tab=True)


def _is_named(value: str | None) -> bool:
    return bool((value or "").strip())
