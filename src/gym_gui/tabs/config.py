"""Config: what the run was given, what differs from its recipe, and how to run it again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nicegui import ui

from gym_gui.reproducing import reproduce_words
from gym_gui.run_view import RunView
from gym_gui.tabs.shown import Shown
from gym_gui.widgets.copy_command import command_text, copy_command
from gym_gui.widgets.headings import heading
from mosaic.client.faults import DaemonFault
from mosaic.contracts.errors import MosaicError
from mosaic.contracts.run_files import find_worker_configs


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting that is not the recipe's."""

    name: str
    value: str
    default: str
    help: str


def build(view: RunView) -> Shown:
    with ui.column().classes("w-full mosaic-panel gap-2"):
        heading("The command that makes the same run")
        command = ui.column().classes("w-full gap-1")
    with ui.column().classes("w-full mosaic-panel gap-2"):
        heading("Not as the recipe has it")
        differences = ui.column().classes("w-full gap-0")
    with ui.column().classes("w-full mosaic-panel gap-2"):
        heading("Files that made it")
        files = ui.column().classes("gap-0")
    with ui.column().classes("w-full mosaic-panel gap-2"):
        heading("Run config")
        ui.label("As it was submitted; secrets were never kept.").classes("mosaic-muted")
        text = json.dumps(view.run_config, indent=2, ensure_ascii=False)
        ui.code(text, language="json").classes("w-full")

    async def fill() -> None:
        with command:
            await _show_command(view)
        with differences:
            _show_differences(await _differences(view))
        with files:
            for path in await asyncio.to_thread(_config_files, view):
                ui.label(path).classes("mosaic-mono break-all")

    ui.timer(0.0, fill, once=True)
    return Shown()


async def _show_command(view: RunView) -> None:
    try:
        words = await reproduce_words(view.live.need_client(), view.details)
    except MosaicError as error:
        ui.label(error.one_line()).classes("mosaic-muted")
        return
    ui.label(command_text(words)).classes("mosaic-mono break-all")
    copy_command(words)


def _config_files(view: RunView) -> list[str]:
    paths = view.live.paths
    candidates = [paths.run_config(view.run_id), *find_worker_configs(paths, view.run_id)]
    found = [str(path) for path in candidates if path.is_file()]
    return found or ["They are gone with the run."]


async def _differences(view: RunView) -> list[Difference] | str:
    """Return them, or why they are not known."""
    try:
        schema = await view.live.need_client().worker_schema(view.run.worker)
    except MosaicError as error:
        return error.one_line()
    except DaemonFault as error:
        return str(error)
    for entry in schema.get("algorithms", ()):
        if entry.get("name") == view.run.algo:
            return compare(view.extras.get("algo_params") or {}, entry.get("fields", ()))
    return f"The worker {view.run.worker} does not describe {view.run.algo}."


def compare(given: Mapping[str, Any], fields: Any) -> list[Difference]:
    """Return the hyperparameters whose value is another than the default."""
    known = {field["name"]: field for field in fields}
    found = []
    for name, value in sorted(given.items()):
        field = known.get(name, {})
        if "default" not in field or value != field["default"]:
            default = json.dumps(field["default"]) if "default" in field else "–"
            found.append(Difference(name, json.dumps(value), default, str(field.get("help", ""))))
    return found


def _show_differences(found: list[Difference] | str) -> None:
    if isinstance(found, str):
        ui.label(found).classes("mosaic-muted")
        return
    if not found:
        ui.label("Every hyperparameter is the recipe's own.").classes("mosaic-muted")
        return
    columns = [
        {"name": name, "label": label, "field": name, "align": "left"}
        for name, label in (
            ("name", "hyperparameter"),
            ("value", "here"),
            ("default", "recipe"),
            ("help", "what it is"),
        )
    ]
    rows = [
        {"name": each.name, "value": each.value, "default": each.default, "help": each.help}
        for each in found
    ]
    table = ui.table(rows=rows, columns=columns, row_key="name").props("dense flat wrap-cells")
    table.classes("w-full")
