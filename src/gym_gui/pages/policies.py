"""Policies: every checkpoint and final policy that was found, and what can be done with each."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

from nicegui import ui

from gym_gui import formatting
from gym_gui.forms.field_grid import heading
from gym_gui.frame import frame, page_at
from gym_gui.live import Live
from gym_gui.run_rows import name
from gym_gui.saved import Saved, saved_at, saved_page
from gym_gui.widgets.copy_command import copy_command
from gym_gui.widgets.empty import empty
from gym_gui.widgets.retrying import retrying
from gym_gui.widgets.state import StateMark

# Of each run the newest are what somebody comes for.
_SHOWN = 2


def add(live: Live) -> None:
    @page_at("/policies")
    async def page(text: str = "", after: str = "") -> None:
        with frame(live, "Policies"):
            heading("Policies", 1)
            _search(text)
            await retrying(live, lambda: _list(live, text, after))


def _search(text: str) -> None:
    def go() -> None:
        ui.navigate.to(_address((field.value or "").strip()))

    with ui.row().classes("w-full items-start gap-2"):
        field = ui.input("Search", value=text).classes("grow max-w-md")
        field.props("outlined dense hide-bottom-space clearable")
        field.props["hint"] = "In the id, the name, the algorithm or the environment of a run."
        field.on("keydown.enter", go)
        ui.button("Search", on_click=go).props("outline no-caps")


def _address(text: str, after: str = "") -> str:
    query = {name: value for name, value in (("text", text), ("after", after)) if value}
    return f"/policies?{urlencode(query)}" if query else "/policies"


async def _list(live: Live, text: str, after: str) -> None:
    page = await saved_page(live.need_client(), live.paths, text=text, token=after)
    for saved in page.found:
        _run_card(saved)
    if not page.found:
        if text or after or page.next_token:
            empty("None of the runs looked at has saved anything.")
        else:
            empty(
                "No run has saved a policy or a checkpoint yet.",
                action="Train an agent",
                path="/launch",
            )
    if page.next_token:
        older = _address(text, page.next_token)
        ui.button("Older runs", on_click=lambda: ui.navigate.to(older)).props("outline no-caps")


def _run_card(saved: Saved) -> None:
    run = saved.run
    with ui.column().classes("w-full mosaic-panel gap-2"):
        with ui.row().classes("w-full items-center gap-x-4 gap-y-1"):
            StateMark(run)
            ui.link(saved.label(), f"/runs/{run.run_id}").classes("font-semibold break-all")
            if name(run) != run.run_id:
                ui.label(run.name).classes("mosaic-muted break-all")
            ui.space()
            value = run.last_return if run.HasField("last_return") else None
            ui.label(f"last return {formatting.number(value)}").classes("mosaic-number")
        rows = list(_rows(saved))
        for row in rows[:_SHOWN]:
            _saved_row(saved, *row)
        if rows[_SHOWN:]:
            with ui.expansion(f"{len(rows) - _SHOWN} older").classes("w-full").props("dense"):
                for row in rows[_SHOWN:]:
                    _saved_row(saved, *row)


def _rows(saved: Saved) -> Iterator[tuple[str, int | None, float | None, bool]]:
    """Yield title, step, time and whether training can go on from it; the newest first."""
    if saved.policy is not None:
        yield f"final policy, {saved.policy.name}", None, saved_at(saved.policy), False
    for state in reversed(saved.states):
        exact = f", not exact: {state.why_not_exact}" if state.why_not_exact else ""
        yield f"checkpoint of step {state.step:,}{exact}", state.step, saved_at(state.path), True


def _saved_row(
    saved: Saved, title: str, step: int | None, when: float | None, is_resumable: bool
) -> None:
    query = {"run": saved.run.run_id} | ({} if step is None else {"step": str(step)})
    flag = [] if step is None else [f"--from={step}"]
    with ui.row().classes("w-full items-center gap-2"):
        ui.label(title).classes("mosaic-number min-w-56")
        ui.label(formatting.age(when)).classes("mosaic-muted w-24")
        _go("Evaluate", "play_circle", "/launch", {"form": "evaluate", **query})
        if is_resumable:
            _go("Resume", "play_arrow", "/launch", {"form": "resume", **query})
        _go("Play", "gamepad", "/policies/play", query)
        copy_command(["eval", saved.run.run_id, *flag, "--detach"], label="Copy evaluation")


def _go(text: str, icon: str, path: str, query: dict[str, str]) -> None:
    address = f"{path}?{urlencode(query)}"
    ui.button(text, icon=icon, on_click=lambda: ui.navigate.to(address)).props(
        "outline dense no-caps"
    )
