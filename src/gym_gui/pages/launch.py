"""Launch: who acts, and the form of what it shall do."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from nicegui import ui

from gym_gui.forms.actor import actor_form, only_of
from gym_gui.forms.draft import TrainDraft
from gym_gui.forms.evaluate import evaluate_form
from gym_gui.forms.field_grid import heading
from gym_gui.forms.kept import first_draft, last_draft
from gym_gui.forms.preset import best_draft
from gym_gui.forms.quick import train_agent
from gym_gui.forms.resume import resume_form
from gym_gui.forms.script import script_form
from gym_gui.forms.source import choose_source
from gym_gui.forms.train import TrainForm
from gym_gui.frame import frame, page_at
from gym_gui.live import Live
from gym_gui.roster import ROSTER, Actor, find_actor
from gym_gui.widgets.empty import empty
from gym_gui.widgets.retrying import retrying
from mosaic.workers.discovery import Catalogue, load_catalogue

FORMS = {"train": "Train", "resume": "Resume", "evaluate": "Evaluate", "script": "Script"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address of the page says."""

    form: str = "train"
    algo: str = ""
    env_id: str = ""
    run: str = ""
    step: str = ""
    policy: str = ""
    clone: str = ""
    study: str = ""
    last: str = ""
    home: str = ""  # a CleanRL checkout


def add(live: Live) -> None:
    @page_at("/launch")
    async def page(
        actor: str = "",
        form: str = "train",
        algo: str = "",
        env_id: str = "",
        run: str = "",
        step: str = "",
        policy: str = "",
        clone: str = "",
        study: str = "",
        last: str = "",
        home: str = "",
    ) -> None:
        asked = Asked(
            form=form if form in FORMS else "train",
            algo=algo,
            env_id=env_id,
            run=run,
            step=step,
            policy=policy,
            clone=clone,
            study=study,
            last=last,
            home=home,
        )
        with frame(live, "Launch"):
            heading("Launch", 1)
            chosen = find_actor(actor)
            _roster(chosen)
            if chosen.key == "cleanrl":
                await _cleanrl(live, asked)
            elif chosen.key == "human":
                empty("A person plays on the page Play.", action="Open Play", path="/play")
            else:
                await retrying(live, lambda: actor_form(live, chosen, asked.env_id))


def _roster(chosen: Actor) -> None:
    with ui.row().classes("w-full gap-2").props("role=radiogroup aria-label='Actor'"):
        for actor in ROSTER:
            is_chosen = actor is chosen
            button = ui.button(
                on_click=lambda key=actor.key: ui.navigate.to(f"/launch?actor={key}")
            ).props(f"no-caps align=left {'' if is_chosen else 'outline'} role=radio")
            button.props["aria-checked"] = "true" if is_chosen else "false"
            with button, ui.row().classes("items-center gap-2 no-wrap text-left"):
                ui.icon("radio_button_checked" if is_chosen else actor.icon)
                with ui.column().classes("gap-0"):
                    ui.label(actor.name).classes("font-semibold")
                    ui.label(f"{actor.lane} lane").classes("text-xs")
    ui.label(chosen.summary).classes("mosaic-muted")


async def _cleanrl(live: Live, asked: Asked) -> None:
    catalogue = only_of(load_catalogue(), "cleanrl")
    if not catalogue.entries:
        reasons = "; ".join(f"{each.name}: {each.reason}" for each in catalogue.workers)
        empty(f"No worker can train: {reasons or 'none is installed'}. Run 'mosaic doctor'.")
        return
    _form_tabs(asked.form)
    if asked.form == "resume":
        await retrying(live, lambda: resume_form(live, catalogue, asked.run, asked.step))
    elif asked.form == "evaluate":
        await retrying(
            live, lambda: evaluate_form(live, catalogue, asked.run, asked.step, asked.policy)
        )
    elif asked.form == "script":
        script_form(live, asked.policy, asked.run)
    else:
        await retrying(live, lambda: _train(live, catalogue, asked))


def _form_tabs(form: str) -> None:
    with ui.tabs().props("dense no-caps align=left").classes("w-full") as tabs:
        for key, title in FORMS.items():
            ui.tab(key, label=title)
    tabs.set_value(form)
    tabs.on_value_change(
        lambda event: ui.navigate.to(f"/launch?{urlencode({'form': event.value})}")
    )


async def _train(live: Live, catalogue: Catalogue, asked: Asked) -> None:
    if last_draft(live.paths, catalogue) is not None:
        train_agent(live)
    catalogue, home, algo = choose_source(live.paths, catalogue, asked.home, asked.algo)
    draft = await _draft(live, catalogue, replace(asked, algo=algo))
    if home:
        draft.given["cleanrl_home"] = home
    TrainForm(live, draft)


async def _draft(live: Live, catalogue: Catalogue, asked: Asked) -> TrainDraft:
    """Return the draft that the address asks for."""
    if asked.study:
        return best_draft(live.paths, catalogue, asked.study)
    if asked.clone:
        details = await live.need_client().get_run(asked.clone)
        return TrainDraft.of_run(catalogue, json.loads(details.config_json))
    draft = last_draft(live.paths, catalogue) if asked.last else None
    if draft is None:
        draft = first_draft(catalogue)
    if asked.algo and asked.algo != draft.algo:
        draft.choose_algorithm(asked.algo)
        if draft.algorithm.has("env_id"):
            draft.given["env_id"] = draft.algorithm.default("env_id")
    if asked.env_id:
        draft.given["env_id"] = asked.env_id
    draft.settle()
    return draft
