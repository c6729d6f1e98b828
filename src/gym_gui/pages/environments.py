"""Environments: families and games, what each needs, and a page for every one."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import as_file, files
from typing import Any

from nicegui import app, ui

from gym_gui.environment_filter import ACTIONS, EnvironmentFilter
from gym_gui.environment_index import environment_index
from gym_gui.forms.actor import only_of
from gym_gui.frame import frame, page_at
from gym_gui.live import Live
from gym_gui.widgets.empty import empty
from gym_gui.widgets.environment_card import PREVIEWS, environment_card
from gym_gui.widgets.environment_page import environment_page, family_page
from gym_gui.widgets.headings import heading
from mosaic.catalog.families import FAMILIES
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.workers.discovery import load_catalogue

_SHOWN = 48
_CARDS = "w-full grid gap-3 grid-cols-1 sm:grid-cols-2 md:grid-cols-3 xl:grid-cols-4"


def add(live: Live) -> None:
    with as_file(files("mosaic.catalog") / "previews") as folder:
        app.add_static_files(PREVIEWS, folder, max_cache_age=3600)

    @page_at("/environments")
    def page(
        family: str = "",
        text: str = "",
        actions: str = "",
        algo: str = "",
        installed: str = "",
        play: str = "",
    ) -> None:
        known = family if family in FAMILIES else ""
        wanted = EnvironmentFilter(known, text, actions, algo, installed, play)
        with frame(live, "Environments"):
            EnvironmentsView(live, wanted)

    @page_at("/environments/{env_id:path}")
    def one(env_id: str) -> None:
        with frame(live, "Environments"):
            ui.link("All environments", "/environments")
            _one(live, env_id)


def _one(live: Live, env_id: str) -> None:
    """Show an environment; one that is not known yet may be once the packages were asked."""
    index = environment_index(live.paths)
    box = ui.column().classes("w-full gap-4")

    def show() -> None:
        box.clear()
        environment = index.environments.get(env_id)
        with box:
            if environment is not None:
                environment_page(environment, _algorithms())
            elif index.is_whole:
                empty(
                    f"No environment is called {env_id!r}. An id of your own can be typed in the "
                    "form.",
                    action="All environments",
                    path="/environments",
                )
            else:
                ui.label("Looking at what is installed …").classes("mosaic-muted")

    # Not awaited while the page is built: a browser would not wait for it.
    async def complete() -> None:
        await index.complete()
        show()

    # Decided here: the packages may have answered by the time that the timer asks.
    is_settled = index.is_whole or index.environments.get(env_id) is not None
    show()
    if not is_settled:
        ui.timer(0.1, complete, once=True)


def _algorithms() -> list[AlgorithmSchema]:
    """Return what the train form offers, in the order of the worker: the usual ones first."""
    return [entry.algorithm for entry in only_of(load_catalogue(), "cleanrl").entries.values()]


class EnvironmentsView:
    """One open page; its address says what it shows."""

    def __init__(self, live: Live, wanted: EnvironmentFilter) -> None:
        self._index = environment_index(live.paths)
        self._wanted = wanted
        self._algorithms = _algorithms()
        self._shown = _SHOWN
        heading("Environments", 1)
        self._families = ui.row().classes("w-full gap-2").props("role=group aria-label=Families")
        self._filters()
        self._about = ui.column().classes("w-full gap-2")
        self._count = ui.label().classes("mosaic-muted").props("role=status")
        self._cards = ui.element("div").classes(_CARDS)
        self._more = ui.button("Show more", on_click=self._show_more).props("outline no-caps")
        self._show_families()
        self._show()
        if not self._index.is_whole:
            ui.timer(0.1, self._complete, once=True)

    async def _complete(self) -> None:
        await self._index.complete()
        self._show_families()
        self._show()

    def _filters(self) -> None:
        wanted = self._wanted
        with ui.row().classes("w-full items-center gap-3"):
            text = ui.input("Search", value=wanted.text).classes("grow min-w-48 max-w-md")
            text.props("outlined dense clearable debounce=200")
            text.on_value_change(lambda event: self._set("text", event.value or ""))
            names = {"": "Any algorithm"} | {each.name: each.name for each in self._algorithms}
            self._choice("algo", "Fits algorithm", names)
            self._choice("actions", "Actions", ACTIONS)
            self._switch("installed", "Installed only")
            self._switch("play", "A person can play it")

    def _choice(self, name: str, label: str, options: dict[str, str]) -> None:
        value = getattr(self._wanted, name)
        select = ui.select(
            options,
            value=value if value in options else "",
            label=label,
            on_change=lambda event: self._set(name, event.value or ""),
        )
        select.props("outlined dense options-dense").classes("w-52")

    def _switch(self, name: str, label: str) -> None:
        ui.switch(
            label,
            value=bool(getattr(self._wanted, name)),
            on_change=lambda event: self._set(name, "1" if event.value else ""),
        )

    def _set(self, name: str, value: Any) -> None:
        setattr(self._wanted, name, str(value).strip())
        self._shown = _SHOWN
        ui.navigate.history.replace(self._wanted.address)
        if name == "family":
            self._show_families()
        self._show()

    def _show_more(self) -> None:
        self._shown += _SHOWN
        self._show()

    def _show_families(self) -> None:
        counts = {name: len(self._index.environments.of_family(name)) for name in FAMILIES}
        titles = {"": f"All ({sum(counts.values())})"}
        titles |= {name: f"{FAMILIES[name].title} ({counts[name]})" for name in FAMILIES}
        self._families.clear()
        with self._families:
            for name, title in titles.items():
                is_chosen = name == self._wanted.family
                button = ui.button(title, on_click=lambda name=name: self._set("family", name))
                button.props(f"no-caps dense {'unelevated' if is_chosen else 'outline'}")
                button.classes("px-3").props["aria-pressed"] = "true" if is_chosen else "false"
        self._show_about()

    def _show_about(self) -> None:
        self._about.clear()
        family = self._wanted.family
        if not family:
            return
        with self._about:
            family_page(FAMILIES[family])
            if family in self._index.environments.problems:
                problem = self._index.environments.problems[family]
                ui.label(f"The family cannot be listed: {problem}").props("role=alert")

    def _show(self) -> None:
        found: Sequence[Any] = self._wanted.choose(self._index.environments, self._algorithms)
        waiting = "" if self._index.is_whole else " Looking at what else is installed …"
        words = "1 environment." if len(found) == 1 else f"{len(found)} environments."
        self._count.set_text(words + waiting)
        self._cards.clear()
        with self._cards:
            for environment in found[: self._shown]:
                environment_card(environment)
        if not found:
            with self._cards:
                ui.label("None is as you ask. Leave out a filter.").classes("mosaic-muted")
        self._more.set_visibility(len(found) > self._shown)
