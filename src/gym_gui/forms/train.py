"""The train form: what to train, with which settings; a dry run, then the submission."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from nicegui import ui

from gym_gui.forms.algorithm_field import algorithm_field, check_installed
from gym_gui.forms.draft import TrainDraft
from gym_gui.forms.dry_run import DryRunPanel
from gym_gui.forms.environment_field import EnvironmentField
from gym_gui.forms.environments import known_environments
from gym_gui.forms.field_grid import FieldSet, action_bar, grid, heading
from gym_gui.forms.hyperparameters import HyperparameterPanel
from gym_gui.forms.kept import keep_draft
from gym_gui.forms.sections import TRAIN_SECTIONS, Section
from gym_gui.forms.stages import StageList
from gym_gui.forms.submitting import Told, busy, open_runs, submit_all
from gym_gui.live import Live
from gym_gui.roster import actor_of
from gym_gui.widgets.copy_command import copy_command
from mosaic.contracts.errors import ConfigError


class TrainForm:
    """Edits a draft; the draft is what is checked, submitted, kept and copied."""

    def __init__(self, live: Live, draft: TrainDraft) -> None:
        self._live = live
        self._draft = draft
        self._options = FieldSet(draft.give)
        self._budget = FieldSet(draft.give)
        self._more_secrets: dict[str, Callable[[], str]] = {}
        with ui.column().classes("w-full mosaic-panel gap-3"):
            heading("What to train")
            self._what()
        self._stages = StageList(draft, self._env.show)
        self._hyperparameters = HyperparameterPanel(draft)
        with ui.column().classes("w-full gap-2"):
            for section in TRAIN_SECTIONS:
                self._section(section)
        self._actions()
        self._dry_run = DryRunPanel(live)

    def _what(self) -> None:
        with grid():
            algorithm_field(self._draft.catalogue, self._draft.algo, self._choose_algorithm)
            with ui.column().classes("gap-0 w-full"):
                known = known_environments(self._draft.algorithm)
                self._env = EnvironmentField(self._draft.env_id, known, self._choose_environment)
            self._seeds = ui.input(
                "Seed, or seeds with commas",
                value=self._draft.seeds_text,
                validation=self._check_seeds,
            )
            self._seeds.props("outlined dense hide-bottom-space").classes("w-full")
            self._seeds.props["hint"] = "Empty or 0: random, and recorded. 1,2,3: one run each."
            self._budget_box = ui.column().classes("gap-0 w-full")
            self._tuned = ui.column().classes("gap-0 w-full sm:col-span-2")
        self._show_budget()

    def _show_budget(self) -> None:
        """Show what depends on algorithm and environment: the budget, and the tuned values."""
        draft, row = self._draft, self._draft.tuned
        self._budget_box.clear()
        with self._budget_box:
            name = "total_timesteps"
            self._budget.add(draft.parameter(name), draft.shown(name), draft.base(name))
        self._tuned.clear()
        if row is None:
            return
        with self._tuned:
            ui.switch(
                "Use tuned values",
                value=bool(draft.given.get("tuned")),
                on_change=lambda event: self._use_tuned(bool(event.value)),
            ).props("dense").classes("py-2")
            ui.label(f"For {row.env_id}. Source: {row.source}.").classes("text-xs mosaic-muted")

    def _section(self, section: Section) -> None:
        draft = self._draft
        is_open = any(draft.is_changed(name) for name in section.names)
        with ui.expansion(section.title, value=is_open).classes("w-full mosaic-panel !p-0"):
            if section.note:
                ui.label(section.note).classes("mosaic-muted pb-2")
            with grid():
                for name in section.names:
                    parameter = draft.parameter(name)
                    self._options.add(parameter, draft.shown(name), draft.base(name))
                if "track_wandb" in section.names:
                    self._api_key()

    def _api_key(self) -> None:
        self._key = ui.input("W&B API key", password=True).classes("w-full")
        self._key.props("outlined dense hide-bottom-space autocomplete=off")
        self._key.props["hint"] = (
            "Goes to the run's environment and is stored nowhere. Empty: the key of the GUI's "
            "environment, or the existing login."
        )

    def _actions(self) -> None:
        with action_bar():
            self._launch = ui.button("Launch", icon="rocket_launch", on_click=self.launch)
            self._launch.props("no-caps")
            self._validate = ui.button("Validate only (skip training)", on_click=self.validate)
            self._validate.props("outline no-caps")
            copy_command(self._words)
            self._anyway = ui.button("Launch anyway", icon="warning", on_click=self._submit)
            self._anyway.props("outline no-caps color=warning")
            self._anyway.set_visibility(False)

    # What the user does

    def _choose_algorithm(self, name: str) -> None:
        if name == self._draft.algo:
            return
        before = known_environments(self._draft.algorithm)
        self._draft.choose_algorithm(name)
        known = known_environments(self._draft.algorithm)
        self._env.suggest(known)
        if self._draft.env_id in before and known and self._draft.env_id not in known:
            self._env.show(known[0])
        self._settle()

    def _choose_environment(self, env_id: str) -> None:
        had_tuned = self._draft.tuned
        self._draft.given["env_id"] = env_id
        if self._draft.tuned != had_tuned:
            self._settle()
        self._show_address()

    def _use_tuned(self, is_on: bool) -> None:
        self._draft.given["tuned"] = is_on
        self._settle()

    def _settle(self) -> None:
        self._draft.settle()
        self._show_budget()
        self._hyperparameters.show()
        self._show_address()

    def _show_address(self) -> None:
        query = {"form": "train", "algo": self._draft.algo, "env_id": self._draft.env_id}
        actor = actor_of(self._draft.entry.worker.worker_type)
        ui.navigate.history.replace(f"/launch?{urlencode({'actor': actor, **query})}")

    def _check_seeds(self, text: str | None) -> str | None:
        try:
            self._draft.give_seeds(text or "")
        except ConfigError as error:
            return error.one_line()
        return None

    def _words(self) -> list[str]:
        self._check()
        return self._draft.words()

    async def validate(self) -> bool:
        """Do the dry run of the first seed, and show what it found."""
        self._anyway.set_visibility(False)
        async with Told(), busy(self._launch, self._validate):
            self._check()
            documents = self._draft.documents()
            return await self._dry_run.run(documents[0], self._secrets(), count=len(documents))
        return False

    async def launch(self) -> None:
        if await self.validate():
            await self._submit()
        else:
            self._anyway.set_visibility(self._dry_run.has_passed)

    async def _submit(self) -> None:
        async with Told(), busy(self._launch, self._validate, self._anyway):
            self._check()
            runs = await submit_all(self._live, self._draft.documents(), self._secrets())
            keep_draft(self._live.paths, self._draft)
            open_runs(runs)

    def _check(self) -> None:
        """Refuse to go on while a field is wrong."""
        wrong = self._check_seeds(self._seeds.value)
        if wrong:
            raise ConfigError(wrong)
        check_installed(self._draft.algorithm)
        self._stages.check()
        for fields in (self._budget, self._hyperparameters.fields, self._options):
            fields.check()

    def add_secret(self, variable: str, read: Callable[[], str]) -> None:
        """Hand on what a field of its own holds, under this name in the run's environment."""
        self._more_secrets[variable] = read

    def _secrets(self) -> dict[str, str]:
        key: Any = self._key.value
        given = {"WANDB_API_KEY": str(key or "").strip()}
        given |= {name: read() for name, read in self._more_secrets.items()}
        return {name: value for name, value in given.items() if value}
