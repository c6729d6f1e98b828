"""The form of a new sweep: what is searched is prefilled from the recipe."""

from __future__ import annotations

import asyncio
import time
from urllib.parse import quote

from nicegui import ui

from gym_gui.failures import FAILURES, failure_line
from gym_gui.forms.algorithm_field import algorithm_options
from gym_gui.live import Live
from gym_gui.widgets.headings import heading
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.search import parse_search
from mosaic.contracts.train_flags import hyperparameters
from mosaic.contracts.train_request import parse_seeds, train_request
from mosaic.sweeps.request import DIRECTIONS, OBJECTIVE, PRUNERS, SAMPLERS, SweepRequest
from mosaic.sweeps.starting import new_study_name, start_sweep
from mosaic.workers.discovery import Catalogue

_OUTLINED = "outlined dense"


class SweepForm:
    def __init__(self, live: Live, catalogue: Catalogue) -> None:
        self._live = live
        self._catalogue = catalogue
        algo = "ppo" if "ppo" in catalogue.entries else next(iter(catalogue.entries))
        with ui.column().classes("w-full mosaic-panel gap-3"):
            heading("New sweep")
            with ui.element("div").classes("w-full grid grid-cols-1 md:grid-cols-3 gap-3"):
                self._algo = ui.select(
                    algorithm_options(catalogue), value=algo, label="Algorithm", with_input=True
                ).props(_OUTLINED)
                self._algo.tooltip("What is trained").on_value_change(self._fill)
                self._env = _text("Environment id", "CartPole-v1", "Where it is trained")
                self._steps = _number("Steps of a trial", 50_000, "Each run's total_timesteps")
                self._trials = _number("Trials", 20, "How many settings are tried")
                self._parallel = _number("Trials at a time", 1, "They queue for the machine")
                self._seeds = _text("Seeds of a trial", "1", "Several are averaged: 1,2,3")
                self._objective = _text("Objective", OBJECTIVE, "The metric that is sought")
                self._direction = _choice("Direction", DIRECTIONS, "Which way is better")
                self._sampler = _choice("Sampler", SAMPLERS, "How settings are proposed")
                self._pruner = _choice("Pruner", PRUNERS, "How bad trials are ended early")
            self._space = ui.textarea("Searched, one a line").props("outlined autogrow")
            self._space.classes("w-full mosaic-mono").tooltip(
                "NAME=LOW..HIGH, NAME=LOW..HIGH:log or NAME=VALUE,VALUE"
            )
            ui.button("Start the sweep", icon="rocket_launch", on_click=self._start).props(
                "no-caps"
            )
        self._fill()

    def _fill(self) -> None:
        entry = self._catalogue.entries.get(str(self._algo.value))
        rows = entry.algorithm.search if entry is not None else ()
        self._space.set_value("\n".join(row.to_text() for row in rows))

    def request(self) -> SweepRequest:
        """Return what the form says, checked."""
        algorithm = self._catalogue.find(str(self._algo.value)).algorithm
        steps = self._steps.value
        if not isinstance(steps, int | float) or steps < 1:
            raise ConfigError(f"total_timesteps={steps} is not allowed: give at least 1.")
        given = {"env_id": (self._env.value or "").strip() or None, "total_timesteps": int(steps)}
        train_request(algorithm, given)
        fields = tuple(hyperparameters(algorithm))
        lines = [line.strip() for line in (self._space.value or "").splitlines() if line.strip()]
        request = SweepRequest(
            study=new_study_name(algorithm.name, str(given["env_id"])),
            algo=algorithm.name,
            given=given,
            space=tuple(parse_search(line, fields, owner=algorithm.name) for line in lines),
            seeds=parse_seeds(self._seeds.value or "1"),
            trials=max(1, int(self._trials.value or 1)),
            objective=self._objective.value or OBJECTIVE,
            direction=str(self._direction.value),
            sampler=str(self._sampler.value),
            pruner=str(self._pruner.value),
            parallel=max(1, min(64, int(self._parallel.value or 1))),
            created_at=time.time(),
        )
        request.check(algorithm)
        return request

    async def _start(self) -> None:
        try:
            request = self.request()
            await asyncio.to_thread(start_sweep, self._live.paths, request)
        except FAILURES as error:
            ui.notify(failure_line(error), type="negative", multi_line=True)
            return
        ui.navigate.to(f"/sweeps/{quote(request.study)}")


def _text(label: str, value: str, help_text: str) -> ui.input:
    return ui.input(label, value=value).props(_OUTLINED).tooltip(help_text)


def _number(label: str, value: int, help_text: str) -> ui.number:
    field = ui.number(label, value=value, min=1, step=1, format="%d")
    return field.props(_OUTLINED).tooltip(help_text)


def _choice(label: str, options: tuple[str, ...], help_text: str) -> ui.select:
    field = ui.select(list(options), value=options[0], label=label)
    return field.props(_OUTLINED).tooltip(help_text)
