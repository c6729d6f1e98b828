"""Play what a run has learned: watch its policy, and take over from it."""

from __future__ import annotations

import json
from urllib.parse import urlencode

from nicegui import background_tasks, ui

from gym_gui.forms.field_grid import heading
from gym_gui.frame import frame, page_at
from gym_gui.live import Live
from gym_gui.saved import saved_by
from gym_gui.widgets.copy_command import copy_command
from gym_gui.widgets.empty import empty
from gym_gui.widgets.player import Player
from gym_gui.widgets.retrying import retrying
from mosaic.contracts.play_request import play_run, playing_module
from mosaic.workers.discovery import load_catalogue


def add(live: Live) -> None:
    @page_at("/policies/play")
    async def page(run: str = "", step: str = "") -> None:
        with frame(live, "Policies"):
            heading("Play a policy", 1)
            if not run:
                empty(
                    "Choose what plays on the page Policies.",
                    action="Open Policies",
                    path="/policies",
                )
                return
            await retrying(live, lambda: _play(live, run, step))


async def _play(live: Live, run_id: str, step: str) -> None:
    saved, details = await saved_by(live.need_client(), run_id)
    from_step = int(step) if step.isdecimal() else None
    request = play_run(json.loads(details.config_json), saved.run_dir, from_step=from_step)
    with ui.row().classes("w-full items-center gap-4"):
        ui.link(saved.label(), f"/runs/{saved.run.run_id}").classes("font-semibold break-all")
        query = {"run": run_id} | ({} if from_step is None else {"step": step})
        ui.link("Evaluate it", f"/launch?{urlencode({'form': 'evaluate', **query})}")
        flag = [] if from_step is None else [f"--from={from_step}"]
        copy_command(["play", saved.run.run_id, *flag])
    player = Player(playing_module(load_catalogue().available), request)
    background_tasks.create(player.start(), name="player")
