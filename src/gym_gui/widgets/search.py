"""The search of the top bar: pages by their name, runs by any word of theirs."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from gym_gui.failures import FAILURES, failure_line
from gym_gui.live import Live
from gym_gui.run_rows import name, state_word, title

_SHOWN = 12

# What is found: its text and its address.
Hit = tuple[str, str]


def add_search(live: Live, places: Sequence[Hit]) -> None:
    """Add the button, and the dialog that it and Ctrl+K open."""
    found: list[Hit] = []
    with ui.dialog().props("position=top") as dialog, ui.card().classes("w-full max-w-xl"):
        field = (
            ui.input(placeholder="Page, run, algorithm or environment")
            .props("autofocus outlined dense clearable debounce=200 aria-label='Search'")
            .classes("w-full")
        )
        results = ui.column().classes("w-full gap-0").props("aria-live=polite")

    async def search() -> None:
        text = (field.value or "").strip()
        try:
            hits = await find(live, places, text) if text else []
            problem = "" if hits or not text else "Nothing was found."
        except FAILURES as error:
            hits, problem = find_places(places, text), failure_line(error)
        if text != (field.value or "").strip():
            return  # somebody typed on, and the next answer is on its way
        found[:] = hits
        results.clear()
        with results:
            for words, address in hits:
                ui.link(words, address).classes("py-1 w-full truncate")
            if problem:
                ui.label(problem).classes("mosaic-muted")

    def open_first() -> None:
        if found:
            ui.navigate.to(found[0][1])

    field.on_value_change(search)
    field.on("keydown.enter", open_first)
    ui.button(icon="search", on_click=dialog.open).props(
        "flat round color=white aria-label='Search (Ctrl+K)'"
    )


async def find(live: Live, places: Sequence[Hit], text: str) -> list[Hit]:
    """Return pages that begin with the text, then runs that hold it."""
    page = await live.need_client().list_runs(text=text, page_size=_SHOWN)
    runs = [
        (f"{title(run)} · {state_word(run)} · {name(run)}", f"/runs/{run.run_id}")
        for run in page.runs
    ]
    return [*find_places(places, text), *runs]


def find_places(places: Sequence[Hit], text: str) -> list[Hit]:
    return [place for place in places if text and place[0].lower().startswith(text.lower())]
