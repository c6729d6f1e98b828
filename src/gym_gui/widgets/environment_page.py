"""Everything about one environment: picture, page, what it needs, which algorithms fit."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from nicegui import ui

from gym_gui.environment_filter import launch_path
from gym_gui.widgets.copy_command import copy_command
from gym_gui.widgets.copy_text import copy_text
from gym_gui.widgets.environment_card import badges, preview
from gym_gui.widgets.headings import heading
from mosaic.catalog.environments import Environment
from mosaic.catalog.families import Family
from mosaic.catalog.listing import describe_environment
from mosaic.catalog.needs import Need, is_installed, needs_of, needs_of_family
from mosaic.catalog.page import environment_lines, family_lines
from mosaic.contracts.installed import missing_modules
from mosaic.contracts.schema import AlgorithmSchema


def environment_page(environment: Environment, algorithms: Sequence[AlgorithmSchema]) -> None:
    fitting = environment.fitting(algorithms)
    with ui.row().classes("w-full items-center gap-3"):
        heading(environment.title, 1)
        badges(environment)
    with ui.element("div").classes("grid grid-cols-1 lg:grid-cols-[1fr_22rem] gap-4 w-full"):
        with ui.column().classes("mosaic-panel gap-2 min-w-0"):
            ui.markdown("\n".join(environment_lines(environment))).classes("w-full")
            if environment.game is None:
                _spaces(environment)
        with ui.column().classes("gap-4 min-w-0"):
            preview(environment, "w-full h-56 rounded-lg overflow-hidden")
            _train(environment, fitting)
            _names(environment)
            with ui.column().classes("mosaic-panel gap-2 w-full"):
                heading("Needs")
                need_list(needs_of(environment))


def environment_documentation(environment: Environment) -> None:
    """Show the page alone, as it stands beside a form."""
    heading(environment.title)
    preview(environment, "w-full h-40 rounded-lg overflow-hidden shrink-0")
    badges(environment)
    ui.markdown("\n".join(environment_lines(environment))).classes("w-full text-sm")
    missing = [need for need in needs_of(environment) if not need.is_met]
    if missing:
        need_list(missing)


def family_page(family: Family) -> None:
    with ui.expansion(f"About {family.title}: {family.summary}").classes(
        "w-full mosaic-panel !p-0"
    ):
        ui.markdown("\n".join(family_lines(family))).classes("w-full")
    missing = [need for need in needs_of_family(family) if not need.is_met]
    if missing:
        need_list(missing)


def need_list(needs: Sequence[Need]) -> None:
    """Name each need, whether it is met, and the command that meets it."""
    for need in needs:
        with ui.row().classes("w-full items-center gap-2"):
            ui.icon("check" if need.is_met else "download", size="xs").props("aria-hidden=true")
            lacks = "installed" if need.is_met else f"lacks {', '.join(need.lacks)}"
            ui.label(f"{need.name}: {lacks}").classes("break-words min-w-0")
        if not need.is_met:
            copy_text(need.command)
    if not needs:
        ui.label("Nothing that is not there.").classes("mosaic-muted")


def _train(environment: Environment, fitting: Sequence[AlgorithmSchema]) -> None:
    ready = [each for each in fitting if not any(map(missing_modules, each.extras))]
    with ui.column().classes("mosaic-panel gap-2 w-full"):
        heading("Algorithms that fit")
        if not fitting:
            ui.label("None of the installed algorithms trains here.").classes("mosaic-muted")
            return
        if ready and is_installed(environment):
            name = ready[0].name
            with ui.row().classes("items-center gap-2"):
                ui.button(
                    "Train here",
                    icon="rocket_launch",
                    on_click=lambda: ui.navigate.to(launch_path(environment.id, name)),
                ).props("no-caps")
                copy_command(["train", name, "--env-id", environment.id, "--detach"])
        for algorithm in fitting:
            ui.link(algorithm.name, launch_path(environment.id, algorithm.name)).tooltip(
                algorithm.summary
            )


def _names(environment: Environment) -> None:
    with ui.column().classes("mosaic-panel gap-1 w-full"):
        heading("Names")
        ui.label(environment.id).classes("mosaic-mono break-all")
        if environment.also:
            ui.label(f"Also: {', '.join(environment.also)}").classes("mosaic-muted break-words")


def _spaces(environment: Environment) -> None:
    """Ask an environment without a page for its spaces, which takes a second or two."""
    label = ui.label("Asking the environment for its spaces …").classes("mosaic-muted")

    async def ask() -> None:
        if not is_installed(environment):
            label.set_text("Its spaces are known once it is installed.")
            return
        found = await asyncio.to_thread(describe_environment, environment.id)
        if "problem" in found:
            label.set_text(f"It cannot be made here: {found['problem']}")
        else:
            label.set_text(
                f"Observation space: {found['observation_space']}. "
                f"Action space: {found['action_space']}."
            )

    if environment.family.name != "pettingzoo":
        ui.timer(0.1, ask, once=True)
    else:
        label.set_text("")
