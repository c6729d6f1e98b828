"""The form of an actor that is not the CleanRL worker: the train form over its own schema."""

from __future__ import annotations

from dataclasses import replace

from nicegui import ui

from gym_gui.forms.draft import TrainDraft
from gym_gui.forms.train import TrainForm
from gym_gui.live import Live
from gym_gui.roster import Actor
from gym_gui.widgets.empty import empty
from mosaic.workers.discovery import Catalogue, load_catalogue

_KEY_HELP = (
    "Goes to the run's environment and is stored nowhere. Empty: OPENAI_API_KEY of the GUI's "
    "environment, or none."
)
_KEYS = {"llm": ("OPENAI_API_KEY", "API key of the service", _KEY_HELP)}


def only_of(catalogue: Catalogue, worker_type: str) -> Catalogue:
    """Return the algorithms of one worker."""
    entries = {
        name: entry
        for name, entry in catalogue.entries.items()
        if entry.worker.worker_type == worker_type
    }
    return replace(catalogue, entries=entries)


async def actor_form(live: Live, actor: Actor, env_id: str = "") -> None:
    """Show the form, or why the worker cannot be used."""
    catalogue = only_of(load_catalogue(), actor.worker)
    if not catalogue.entries:
        reasons = [each.reason for each in catalogue.workers if each.name == actor.worker]
        reason = reasons[0] if reasons and reasons[0] else "it is not installed"
        empty(f"The {actor.name} cannot be used: {reason}. Run 'mosaic doctor'.")
        return
    draft = TrainDraft(catalogue, next(iter(catalogue.entries)))
    draft.given["env_id"] = env_id or draft.base("env_id")
    draft.settle()
    form = TrainForm(live, draft)
    if actor.key in _KEYS:
        _ask_for_key(form, *_KEYS[actor.key])


def _ask_for_key(form: TrainForm, variable: str, title: str, help: str) -> None:
    with ui.column().classes("w-full mosaic-panel"):
        field = ui.input(title, password=True).classes("w-full")
        field.props("outlined dense hide-bottom-space autocomplete=off")
        field.props["hint"] = help
    form.add_secret(variable, lambda: str(field.value or "").strip())
