"""The choice of a run that saved something to go on from."""

from __future__ import annotations

from urllib.parse import urlencode

from nicegui import ui

from gym_gui.live import Live
from gym_gui.saved import Saved, saved_page


async def run_choice(live: Live, form: str, chosen: Saved | None) -> None:
    """Offer the newest runs that saved something; a choice opens the form with that run."""
    page = await saved_page(live.need_client(), live.paths)
    shown = [each for each in page.found if each.states or form != "resume"]
    options = {each.run.run_id: each.label() for each in shown}
    if chosen is not None:
        options.setdefault(chosen.run.run_id, chosen.label())
    with ui.row().classes("w-full items-start gap-2"):
        select = ui.select(
            options,
            value=chosen.run.run_id if chosen is not None else None,
            label="Run",
            with_input=True,
            on_change=lambda event: _open(form, event.value),
        ).classes("grow min-w-64")
        select.props("outlined dense options-dense hide-bottom-space")
        select.props["hint"] = (
            "The newest runs that saved something; type to search. Policies lists every one."
            if options
            else "No run has saved anything yet: train one first."
        )
        ui.button("All policies", on_click=lambda: ui.navigate.to("/policies")).props(
            "flat no-caps"
        )


def _open(form: str, run_id: str | None) -> None:
    if run_id:
        ui.navigate.to(f"/launch?{urlencode({'form': form, 'run': run_id})}")
