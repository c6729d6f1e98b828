"""Quick launch: a first run in one click, and the last one again."""

from __future__ import annotations

from nicegui import ui

from gym_gui.forms.draft import TrainDraft
from gym_gui.forms.field_grid import heading
from gym_gui.forms.kept import first_draft, keep_draft, last_draft
from gym_gui.forms.submitting import Told, busy, open_runs, submit_all
from gym_gui.live import Live
from gym_gui.widgets.copy_command import copy_command
from mosaic.workers.discovery import load_catalogue

FIRST_RUN = "Train PPO on CartPole (1 minute)"


def quick_launch(live: Live) -> None:
    """Add the panel: the last training that was made here, again or changed."""
    with ui.column().classes("w-full mosaic-panel gap-3"):
        heading("Quick launch")
        train_agent(live)


def first_run(live: Live) -> None:
    """Add the button of the first run that anybody makes."""
    catalogue = load_catalogue()
    if "ppo" in catalogue.entries:
        with ui.row().classes("items-center gap-2"):
            first = first_draft(catalogue)
            submit_button(live, first, FIRST_RUN, icon="bolt")
            copy_command(first.words)


def train_agent(live: Live) -> None:
    """Add "Train Agent", which submits the last training again, and the way to its form."""
    draft = last_draft(live.paths, load_catalogue())
    with ui.row().classes("items-center gap-2"):
        if draft is None:
            ui.label(
                "Train Agent repeats the last training that was launched here: there is none yet."
            ).classes("mosaic-muted")
        else:
            submit_button(live, draft, "Train Agent", icon="replay").tooltip(
                f"Submits the last training again: {draft.summary()}"
            )
            ui.label(draft.summary()).classes("mosaic-muted")
            copy_command(draft.words)
        link = "/launch?form=train" + ("&last=1" if draft is not None else "")
        ui.button("Configure Agent…", icon="tune", on_click=lambda: ui.navigate.to(link)).props(
            "outline no-caps"
        )


def submit_button(live: Live, draft: TrainDraft, text: str, *, icon: str) -> ui.button:
    """Add a button that submits a draft as it is; the daemon checks it."""

    async def submit() -> None:
        async with Told(), busy(button):
            runs = await submit_all(live, draft.documents())
            keep_draft(live.paths, draft)
            open_runs(runs)

    button = ui.button(text, icon=icon, on_click=submit).props("no-caps")
    return button
