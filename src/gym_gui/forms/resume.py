"""The resume form: a checkpoint, more timesteps, and what changes from there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nicegui import ui

from gym_gui import formatting
from gym_gui.forms.dry_run import DryRunPanel
from gym_gui.forms.field_grid import FieldSet, action_bar, grid, heading
from gym_gui.forms.fields import text_of
from gym_gui.forms.run_choice import run_choice
from gym_gui.forms.sections import RESUME_OPTIONS
from gym_gui.forms.submitting import Told, busy, open_runs, submit_all
from gym_gui.live import Live
from gym_gui.saved import Saved, saved_at, saved_by
from gym_gui.widgets.copy_command import copy_command
from gym_gui.widgets.empty import empty
from mosaic.contracts.continuation import continue_config
from mosaic.contracts.extras import RESERVED
from mosaic.contracts.parameters import Parameter
from mosaic.contracts.resume_request import resume_changes, resume_words
from mosaic.contracts.train_flags import hyperparameters
from mosaic.contracts.worker_config import extract_worker_config
from mosaic.workers.discovery import Catalogue

_EXTRA_STEPS = Parameter(
    "extra_timesteps",
    "int",
    0,
    "Steps beyond the run's own total; 0 finishes what it had left.",
    range=(0, None),
    unit="steps",
)


async def resume_form(live: Live, catalogue: Catalogue, run_id: str, step: str) -> None:
    """Build the form of a run; without one, the choice of it."""
    heading("Resume from a checkpoint")
    saved = config = None
    if run_id:
        saved, details = await saved_by(live.need_client(), run_id)
        config = json.loads(details.config_json)
    await run_choice(live, "resume", saved)
    if saved is None or config is None:
        return
    if not saved.states:
        empty(f"The run {saved.run.run_id} has no checkpoint to go on from.")
        return
    ResumeForm(live, catalogue, saved, config, step)


class ResumeForm:
    """Everything that the run had, and the differences that the user makes."""

    def __init__(
        self,
        live: Live,
        catalogue: Catalogue,
        saved: Saved,
        run_config: Mapping[str, Any],
        step: str,
    ) -> None:
        self._live = live
        self._saved = saved
        self._run_config = run_config
        self._config = extract_worker_config(run_config)
        self._algorithm = catalogue.find(str(self._config["algo"])).algorithm
        self._given: dict[str, Any] = {}
        self._fields = FieldSet(self._give)
        self._step = _chosen_step(saved, step)
        with ui.column().classes("w-full mosaic-panel gap-3"):
            self._checkpoints()
            with grid():
                self._extra = self._fields.add(_EXTRA_STEPS, 0, 0)
                self._total = ui.label().classes("mosaic-muted self-center")
        self._settings()
        self._difference()
        self._actions()
        self._dry_run = DryRunPanel(live)
        self._show()

    def _checkpoints(self) -> None:
        heading("Checkpoint", 3)
        options = {state.step: _state_words(state) for state in reversed(self._saved.states)}
        ui.radio(options, value=self._step, on_change=self._choose_step).props("dense")

    def _settings(self) -> None:
        """Show hyperparameters and options with the run's own values as what holds."""
        own = {**(self._config.get("extras") or {}), **self._own_parameters()}
        title = "Change settings from there on"
        with ui.expansion(title).classes("w-full mosaic-panel !p-0"), grid():
            for each in hyperparameters(self._algorithm):
                value = own.get(each.name, each.default)
                self._fields.add(each, value, value, label=each.name)
            for name in RESUME_OPTIONS.names:
                parameter = RESERVED[name].as_parameter()
                value = own.get(name, parameter.default)
                self._fields.add(parameter, value, value)

    def _own_parameters(self) -> Mapping[str, Any]:
        params = (self._config.get("extras") or {}).get("algo_params")
        return params if isinstance(params, Mapping) else {}

    def _difference(self) -> None:
        with ui.column().classes("w-full mosaic-panel gap-1"):
            heading("Difference to the run", 3)
            self._changes = ui.column().classes("gap-0 w-full").props("aria-live=polite")

    def _actions(self) -> None:
        with action_bar():
            self._resume = ui.button("Resume", icon="play_arrow", on_click=self.resume)
            self._resume.props("no-caps")
            self._validate = ui.button("Validate only (skip training)", on_click=self.validate)
            self._validate.props("outline no-caps")
            copy_command(self.words)

    # What the user does

    def _choose_step(self, event: Any) -> None:
        self._step = int(event.value)
        query = f"form=resume&run={self._saved.run.run_id}&step={self._step}"
        ui.navigate.history.replace(f"/launch?{query}")
        self._show()

    def _give(self, name: str, value: Any) -> None:
        if value == self._fields.fields[name].base:
            self._given.pop(name, None)
        else:
            self._given[name] = value
        self._show()

    def _show(self) -> None:
        """Say what would be another than in the run."""
        total, new_total = int(self._config["total_timesteps"]), self._new_total()
        end = total if new_total is None else new_total
        self._total.set_text(f"From step {self._step:,} to {end:,}: {end - self._step:,} more.")
        lines = [] if new_total is None else [f"total_timesteps: {total} → {new_total}"]
        for name, value in self._given.items():
            if name != _EXTRA_STEPS.name:
                before = text_of(self._fields.fields[name].base) or "none"
                lines.append(f"{name}: {before} → {text_of(value) or 'none'}")
        self._changes.clear()
        with self._changes:
            for line in lines or ["None: it goes on as it was."]:
                ui.label(line).classes("mosaic-mono")

    def _new_total(self) -> int | None:
        extra = self._given.get(_EXTRA_STEPS.name)
        return int(self._config["total_timesteps"]) + extra if extra else None

    def asked(self) -> dict[str, Any]:
        """Return what differs, under the names of `mosaic resume`'s flags."""
        self._fields.check()
        changes = {key: each for key, each in self._given.items() if key != _EXTRA_STEPS.name}
        total = self._new_total()
        return {"from": self._step, **({"total_timesteps": total} if total else {}), **changes}

    def words(self) -> list[str]:
        return [*resume_words(self._saved.run.run_id, self._algorithm, self.asked()), "--detach"]

    def document(self) -> dict[str, Any]:
        """Return the run config that goes on from there."""
        asked = self.asked()
        changes = {key: asked[key] for key in asked if key not in ("from", "total_timesteps")}
        return continue_config(
            self._run_config,
            self._saved.run_dir,
            from_step=self._step,
            total_timesteps=asked.get("total_timesteps"),
            changes=resume_changes(self._algorithm, changes),
        )

    async def validate(self) -> bool:
        async with Told(), busy(self._resume, self._validate):
            await self._dry_run.run(self.document(), {})
            return self._dry_run.has_passed
        return False

    async def resume(self) -> None:
        if await self.validate():
            async with Told(), busy(self._resume, self._validate):
                open_runs(await submit_all(self._live, [self.document()]))


def _chosen_step(saved: Saved, step: str) -> int:
    steps = [state.step for state in saved.states]
    if step.isdecimal() and int(step) in steps:
        return int(step)
    return saved.latest.step if saved.latest is not None else steps[-1]


def _state_words(state: Any) -> str:
    kind = f"not exact: {state.why_not_exact}" if state.why_not_exact else "exact"
    return f"step {state.step:,} · {kind} · {formatting.age(saved_at(state.path))}"
