"""The script form: a script, what it says of itself, and how far it has come."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import Any
from urllib.parse import urlencode

from nicegui import ui

from gym_gui.forms.field_grid import action_bar, heading
from gym_gui.live import Live
from gym_gui.widgets.copy_command import copy_command
from gym_gui.widgets.empty import empty
from mosaic.contracts.identifiers import new_run_id
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.saved_states import read_object
from mosaic.contracts.scripts import Script, find_scripts
from mosaic.contracts.settings import load_settings

_STATUS_FILE = "script.json"
_LOOK_S = 1.0
_ICONS = {
    "completed": "check_circle",
    "running": "pending",
    "failed": "error",
    "cancelled": "cancel",
}


def script_form(live: Live, name: str, run_id: str) -> None:
    """Build the choice of a script, and of the chosen one all it says."""
    heading("Run a script")
    scripts = find_scripts(load_settings(live.paths.settings))
    if not scripts:
        empty("No script may run: the operator allows them in var/mosaic.toml.")
        return
    known = {script.name: script for script in scripts}
    chosen = known.get(name)
    ui.select(
        {key: f"{key} · {script.description}" for key, script in known.items()},
        label="Script",
        value=None if chosen is None else chosen.name,
        on_change=lambda event: ui.navigate.to(
            f"/launch?{urlencode({'form': 'script', 'policy': event.value})}"
        ),
    ).props("outlined").classes("w-full max-w-3xl")
    if chosen is not None:
        ScriptForm(live, chosen, run_id)


class ScriptForm:
    """One script: its metadata, its phases, the button that runs it."""

    def __init__(self, live: Live, script: Script, run_id: str) -> None:
        self._live = live
        self._script = script
        self._run_id = run_id
        self._shown: Any = None
        with ui.column().classes("w-full mosaic-panel gap-2"):
            heading(script.name, 3)
            ui.label(script.description)
            for title, value in (
                ("Environment family", script.env_family),
                ("Timesteps in all", script.total_timesteps),
                ("Author", script.author),
                ("File", script.path),
            ):
                if value is not None:
                    ui.label(f"{title}: {value}").classes("mosaic-muted break-all")
            self._phases = ui.column().classes("w-full gap-1").props("aria-live=polite")
        with action_bar():
            self._run = ui.button("Run script", icon="play_arrow", on_click=self.run)
            self._run.props("no-caps")
            self._seed = ui.number("Seed", value=1, min=0, precision=0).props("outlined dense")
            copy_command(self._words)
        ui.timer(_LOOK_S, self._refresh)
        self._show({})

    def _words(self) -> list[str]:
        return ["script", self._script.name, "--seed", str(int(self._seed.value or 0))]

    def run(self) -> None:
        """Start it in a session of its own: it outlives this page and the GUI."""
        self._run_id = new_run_id()
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "mosaic.cli",
                *self._words(),
                "--run-id",
                self._run_id,
                "--json",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=_environment(self._live.paths),
        )
        query = {"form": "script", "policy": self._script.name, "run": self._run_id}
        ui.navigate.history.replace(f"/launch?{urlencode(query)}")
        self._run.disable()

    async def _refresh(self) -> None:
        if not self._run_id:
            return
        path = self._live.paths.run(self._run_id, "script").root / _STATUS_FILE
        status = await asyncio.to_thread(read_object, path)
        if status.get("updated_at") != self._shown:
            self._shown = status.get("updated_at")
            self._show(status)

    def _show(self, status: dict[str, Any]) -> None:
        begun = status.get("phases") or []
        planned = [*self._script.phases]
        self._phases.clear()
        with self._phases:
            names = [phase["name"] for phase in begun]
            rest = [name for name in planned if name not in names]
            for number, phase in enumerate(begun):
                self._phase(number, str(phase["name"]), str(phase["status"]))
            for number, name in enumerate(rest, len(begun)):
                self._phase(number, name, "to come")
            if status.get("error"):
                ui.label(f"It stopped: {status['error']}").props("role=alert").classes(
                    "text-negative"
                )
            if status:
                ui.label(f"{status.get('status')}; its files: {status.get('run_dir')}").classes(
                    "mosaic-muted break-all"
                )
                ui.link("The runs of its phases are in the list of runs.", "/runs")
        if status.get("status") in ("completed", "failed", "cancelled"):
            self._run.enable()

    def _phase(self, number: int, name: str, status: str) -> None:
        with ui.row().classes("items-center gap-2"):
            ui.icon(_ICONS.get(status, "radio_button_unchecked"))
            ui.label(f"{number + 1}. {name}: {status}")


def _environment(paths: VarPaths) -> dict[str, str]:
    return {**os.environ, "MOSAIC_VAR_DIR": str(paths.root)}
