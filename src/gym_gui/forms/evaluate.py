"""The evaluate form: a policy or a checkpoint, played batch by batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from nicegui import ui

from gym_gui.forms.dry_run import DryRunPanel
from gym_gui.forms.field_grid import FieldSet, action_bar, grid, heading
from gym_gui.forms.fields import Field
from gym_gui.forms.policy_source import FilePolicy, PolicySource, RunPolicy
from gym_gui.forms.run_choice import run_choice
from gym_gui.forms.sections import EVALUATION, EVALUATION_FRAMES
from gym_gui.forms.submitting import Told, busy, open_runs, submit_all
from gym_gui.live import Live
from gym_gui.saved import Saved, saved_by
from gym_gui.widgets.copy_command import copy_command
from gym_gui.widgets.empty import empty
from mosaic.contracts.evaluation_request import OWN, evaluation_options, given_same_seed
from mosaic.contracts.parameters import find
from mosaic.workers.discovery import Catalogue

_LOCKED = ("env_id", "algo", "seed")
_WHY_LOCKED = (
    "Read from what was trained (seed {seed}). The evaluation draws a seed of its own unless one "
    "is given: on the episodes of its training a policy would look too good."
)


async def evaluate_form(
    live: Live, catalogue: Catalogue, run_id: str, step: str, policy: str
) -> None:
    """Build the form of a policy; without one, the choice of it."""
    heading("Evaluate a policy")
    saved: Saved | None = None
    source: PolicySource | None = None
    if run_id and not policy:
        saved, details = await saved_by(live.need_client(), run_id)
        if not saved.is_empty:
            source = RunPolicy(saved, json.loads(details.config_json), step)
    elif policy:
        source = FilePolicy(Path(policy).expanduser(), catalogue)
    await run_choice(live, "evaluate", saved)
    _file_choice(policy)
    if saved is not None and saved.is_empty:
        empty(f"The run {saved.run.run_id} has neither a saved policy nor a checkpoint.")
    elif source is not None:
        EvaluateForm(live, catalogue, source)


def _file_choice(policy: str) -> None:
    def read() -> None:
        if (path.value or "").strip():
            query = urlencode({"form": "evaluate", "policy": path.value.strip()})
            ui.navigate.to(f"/launch?{query}")

    with ui.row().classes("w-full items-start gap-2"):
        path = ui.input("Or a file: .cleanrl_model or checkpoint", value=policy)
        path.props("outlined dense hide-bottom-space").classes("grow min-w-64")
        path.props["hint"] = "A path on the machine that MOSAIC runs on."
        path.on("keydown.enter", read)
        ui.button("Read", on_click=read).props("outline no-caps")


class EvaluateForm:
    """What the policy says of itself is locked until somebody asks to override it."""

    def __init__(self, live: Live, catalogue: Catalogue, source: PolicySource) -> None:
        self._live = live
        self._catalogue = catalogue
        self._source = source
        self._given: dict[str, Any] = {}
        self._fields = FieldSet(self._give)
        with ui.column().classes("w-full mosaic-panel gap-3"):
            heading("Policy", 3)
            source.show_choice(self._show_address)
            self._identity()
        for section in (EVALUATION, EVALUATION_FRAMES):
            with ui.column().classes("w-full mosaic-panel gap-3"):
                heading(section.title, 3)
                with grid():
                    for name in section.names:
                        parameter = find(evaluation_options(), name, owner="mosaic eval")
                        self._fields.add(parameter, parameter.default, parameter.default)
        self._against_field()
        self._actions()
        self._dry_run = DryRunPanel(live)

    def _against_field(self) -> None:
        with ui.column().classes("w-full mosaic-panel gap-3"):
            heading("Against another", 3)
            self._against = ui.input("Run or policy to compare with").classes("w-full max-w-xl")
            self._against.props("outlined dense hide-bottom-space")
            self._against.props["hint"] = (
                "Its id, or a path on this machine. Both play the same seeds. Empty: none."
            )

    def _identity(self) -> None:
        """Show environment, algorithm and seed of the policy."""
        known = self._source.known()
        with grid():
            self._identities: list[Field] = []
            for name in _LOCKED:
                parameter = find(OWN, name, owner="mosaic eval")
                value = known.get(name)
                label = "Seed override" if name == "seed" else None
                field = self._fields.add(parameter, value, value, label=label)
                self._identities.append(field)
        self._override = ui.switch("Override", on_change=self._lock).props("dense")
        ui.label(_WHY_LOCKED.format(seed=known.get("trained_seed"))).classes("text-xs mosaic-muted")
        if not (known.get("env_id") and known.get("algo")):
            self._override.set_value(True)
        self._lock()

    def _lock(self) -> None:
        is_open = bool(self._override.value)
        for field in self._identities:
            field.enable(is_open)
            if not is_open:
                field.show(field.base)
                self._given.pop(field.parameter.name, None)

    def _actions(self) -> None:
        with action_bar():
            self._load = ui.button("Load Trained Policy", icon="psychology", on_click=self.load)
            self._load.props("no-caps")
            self._validate = ui.button("Validate only", on_click=self.validate)
            self._validate.props("outline no-caps")
            copy_command(self.words)

    # What the user does

    def _give(self, name: str, value: Any) -> None:
        if value == self._fields.fields[name].base:
            self._given.pop(name, None)
        else:
            self._given[name] = value

    def _show_address(self) -> None:
        ui.navigate.history.replace(f"/launch?{urlencode(self._source.address())}")

    def asked(self) -> dict[str, Any]:
        """Return what differs, under the names of `mosaic eval`'s flags."""
        self._fields.check()
        return {**self._source.asked(), **self._given}

    def words(self) -> list[str]:
        other = (self._against.value or "").strip()
        against = ["--against", other] if other else []
        return [*self._source.words(self.asked()), *against, "--detach"]

    async def validate(self) -> bool:
        async with Told(), busy(self._load, self._validate):
            await self._dry_run.run(self._source.document(self.asked()), {})
            return self._dry_run.has_passed
        return False

    async def load(self) -> None:
        if await self.validate():
            async with Told(), busy(self._load, self._validate):
                other = (self._against.value or "").strip()
                if other:
                    await self._load_both(other)
                    return
                document = self._source.document(self.asked())
                open_runs(await submit_all(self._live, [document]))

    async def _load_both(self, other: str) -> None:
        """Submit both with one seed, and show the first beside the second."""
        asked = given_same_seed(self.asked())
        path = Path(other).expanduser()
        source: PolicySource
        if path.exists() or len(path.parts) > 1:
            source = FilePolicy(path, self._catalogue)
        else:
            saved, details = await saved_by(self._live.need_client(), other)
            source = RunPolicy(saved, json.loads(details.config_json), "")
        shared = {name: value for name, value in asked.items() if name != "from"}
        documents = [self._source.document(asked), source.document(shared)]
        first, second = await submit_all(self._live, documents)
        ui.navigate.to(f"/runs/{first.run_id}?tab=evaluation&against={second.run_id}")
