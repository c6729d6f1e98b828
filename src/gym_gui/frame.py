"""What every page has: the rail, the top bar, the daemon's chip, and the banner when it is away."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from nicegui import app, ui

from gym_gui.live import Live
from gym_gui.theme import apply_theme
from gym_gui.widgets.search import add_search
from mosaic.contracts.errors import MosaicError


@dataclass(frozen=True, slots=True)
class Place:
    title: str
    path: str
    icon: str
    key: str  # pressed after "g"


PLACES = (
    Place("Home", "/", "home", "h"),
    Place("Launch", "/launch", "rocket_launch", "l"),
    Place("Runs", "/runs", "list", "r"),
    Place("Compare", "/compare", "stacked_line_chart", "c"),
    Place("Policies", "/policies", "psychology", "p"),
    Place("Sweeps", "/sweeps", "tune", "s"),
    Place("Environments", "/environments", "sports_esports", "e"),
    Place("Play", "/play", "gamepad", "y"),
    Place("System", "/system", "memory", "m"),
)

_THEMES = {"auto": None, "light": False, "dark": True}
_ICONS = {"auto": "brightness_auto", "light": "light_mode", "dark": "dark_mode"}


# A busy machine may take seconds for a page; NiceGUI would answer 500 after three.
_BUILD_S = 30.0


def page_at(path: str) -> ui.page:
    """Return what makes a function the page of an address."""
    return ui.page(path, response_timeout=_BUILD_S)


@contextmanager
def frame(live: Live, title: str) -> Iterator[ui.column]:
    """Build the frame of a page; what is built inside goes into its middle."""
    apply_theme()
    ui.page_title(f"{title} · MOSAIC")
    _shortcuts()
    with ui.header(elevated=False).classes("items-center gap-2 px-3 py-1 no-wrap"):
        menu = ui.button(icon="menu").props("flat round color=white aria-label='Menu'")
        ui.label("MOSAIC").classes("text-lg font-bold max-sm:hidden")
        ui.space()
        add_search(live, [(place.title, place.path) for place in PLACES])
        _chip(live)
        _theme_button()
        ui.button(icon="help_outline", on_click=lambda: _show_shortcuts()).props(
            "flat round color=white aria-label='Keyboard shortcuts'"
        )
    # Open where there is room, as the browser decides: None would ask it after each load.
    with ui.left_drawer(value=False).props("width=190 breakpoint=900 bordered") as drawer:
        drawer.props["show-if-above"] = True
        _rail(title)
    menu.on_click(drawer.toggle)
    with ui.column().classes("w-full max-w-screen-2xl mx-auto p-2 sm:p-4 gap-4") as middle:
        _banner(live, middle)
        yield middle


def _rail(title: str) -> None:
    with ui.list().props("padding").classes("w-full"):
        for place in PLACES:
            here = place.title == title
            with (
                ui.item()  # a link, so that it opens in a new tab as well
                .props(f"clickable v-ripple {'active' if here else ''} href={place.path}")
                .classes("rounded-lg")
            ):
                with ui.item_section().props("avatar"):
                    ui.icon(place.icon)
                with ui.item_section():
                    ui.item_label(place.title)


def _chip(live: Live) -> None:
    chip = ui.button(on_click=lambda: ui.navigate.to("/system")).props(
        "flat dense no-caps no-wrap color=white"
    )
    with chip:
        words = ui.label().classes("pl-1 max-sm:hidden")

    def refresh() -> None:
        words.set_text(chip_text(live))
        chip.props(f"icon={'cloud_done' if live.is_connected else 'cloud_off'}")
        chip.props["aria-label"] = chip_text(live)  # a narrow screen shows the symbol alone

    refresh()
    ui.timer(1.0, refresh)


def chip_text(live: Live) -> str:
    """Return the state of the daemon in a few words."""
    if not live.is_connected or live.health is None:
        return "daemon away"
    waiting = sum(run.state == "INIT" for run in live.unfinished())
    running = len(live.unfinished()) - waiting
    return f"daemon ok · {running} running · {waiting} queued"


def _banner(live: Live, middle: ui.column) -> None:
    """Say that the daemon is away, and offer to start it; what the page shows is old then."""
    with ui.row().classes("w-full mosaic-panel items-center").props("role=alert") as banner:
        ui.icon("cloud_off", size="sm")
        text = ui.label().classes("grow")

        async def start() -> None:
            button.disable()
            try:
                await live.start_daemon()
            except MosaicError as error:
                ui.notify(error.one_line(), type="negative", multi_line=True)
            button.enable()

        button = ui.button("Start the daemon", on_click=start)

    def refresh() -> None:
        banner.set_visibility(live.is_away)
        if live.is_away:
            since = time.strftime("%H:%M:%S", time.localtime(live.away_since))
            text.set_text(
                f"The daemon is away, and this page shows what was at {since}: {live.away_because}"
            )
        middle.classes(**{"add" if live.is_away else "remove": "mosaic-stale"})

    refresh()
    ui.timer(1.0, refresh)


def _theme_button() -> None:
    dark = ui.dark_mode()
    chosen = app.storage.user.get("theme", "auto")
    dark.value = _THEMES.get(chosen)
    button = ui.button(icon=_ICONS.get(chosen, "brightness_auto")).props(
        "flat round color=white aria-label='Theme: auto, light or dark'"
    )

    def turn() -> None:
        names = list(_THEMES)
        now = app.storage.user.get("theme", "auto")
        chosen = names[(names.index(now) + 1) % len(names)]
        app.storage.user["theme"] = chosen
        dark.value = _THEMES[chosen]
        button.props(f"icon={_ICONS[chosen]}")
        ui.notify(f"Theme: {chosen}", timeout=1000)

    button.on_click(turn)


def _show_shortcuts() -> None:
    rows = [("Ctrl+K", "search"), ("?", "this list")]
    rows += [(f"g {place.key}", place.title) for place in PLACES]
    with ui.dialog(value=True), ui.card():
        ui.label("Keyboard shortcuts").classes("text-lg font-bold")
        with ui.grid(columns=2).classes("gap-x-8"):
            for keys, what in rows:
                ui.label(keys).classes("mosaic-mono")
                ui.label(what)


def _shortcuts() -> None:
    """Two keys in a row: "g" and the letter of a place; not while somebody types."""
    places = {place.key: place.path for place in PLACES}
    ui.add_head_html(
        "<script>"
        f"(() => {{ const places = {places}; let armed = 0;"
        """document.addEventListener('keydown', event => {
          const typing = event.target.closest('input, textarea, select, [contenteditable]');
          if ((event.ctrlKey || event.metaKey) && event.key === 'k') {
            event.preventDefault();
            document.querySelector('[aria-label="Search (Ctrl+K)"]').click();
          }
          if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
          if (event.key === 'g') { armed = Date.now(); return; }
          if (Date.now() - armed < 1500 && places[event.key]) location.href = places[event.key];
          const help = '[aria-label="Keyboard shortcuts"]';
          if (event.key === '?') document.querySelector(help).click();
          armed = 0;
        }); })()</script>"""
    )
