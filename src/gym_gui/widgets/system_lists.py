"""The lists of the page System: queue, processes, workers, what is allowed, versions."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from nicegui import ui

from gym_gui import formatting
from gym_gui.live import Live
from gym_gui.run_processes import RunProcess
from gym_gui.run_rows import title
from mosaic.contracts.errors import MosaicError
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.settings import load_settings
from mosaic.proto import trainer_pb2 as pb
from mosaic.workers.discovery import Catalogue

_PACKAGES = (
    *("mosaic-rl", "torch", "jax", "gymnasium", "numpy", "nicegui", "grpcio", "tensorboard"),
    *("ale-py", "mujoco", "minigrid", "envpool", "dm-control", "pettingzoo", "wandb", "optuna"),
)


def show_queue(box: ui.column, waiting: Sequence[pb.Run]) -> None:
    box.clear()
    with box:
        for run in sorted(waiting, key=lambda each: each.queue_position or 10**9):
            place = f"{run.queue_position}. " if run.queue_position else ""
            ui.link(f"{place}{title(run)}", f"/runs/{run.run_id}")
            ui.label(f"waits: {run.reason or 'starts next'}").classes("mosaic-muted text-sm")
        if not waiting:
            ui.label("Nothing waits.").classes("mosaic-muted")


def show_processes(box: ui.column, found: Mapping[str, Sequence[RunProcess]], live: Live) -> None:
    box.clear()
    with box:
        for run_id in sorted(found, reverse=True):
            run = live.runs.get(run_id)
            if run is None:
                ui.label(f"{run_id}, not under way for this daemon").classes("break-all")
            else:
                ui.link(title(run), f"/runs/{run_id}")
            for process in found[run_id]:
                text = (
                    f"{process.pid}  {process.command}, {formatting.size(process.memory_bytes)}, "
                    f"{formatting.duration(process.cpu_s)} of processor time"
                )
                label = ui.label(text).classes("mosaic-mono break-words")
                label.style(f"margin-left: {process.depth}rem")
        if not found:
            ui.label("No run has a process.").classes("mosaic-muted")


def show_workers(catalogue: Catalogue) -> None:
    for worker in catalogue.workers:
        known = worker.capabilities
        names = [
            name
            for name, entry in catalogue.entries.items()
            if known is not None and entry.worker.worker_type == known.worker_type
        ]
        with ui.column().classes("w-full gap-0"):
            if known is None:
                ui.label(f"{worker.name}: unavailable").classes("font-semibold")
                ui.label(worker.reason or "").classes("break-words")
            else:
                ui.label(f"{known.display_name} {known.version}").classes("font-semibold")
                ui.label(f"{known.description} {len(names)} algorithms, {known.lane} lane.")
    if not catalogue.workers:
        ui.label("None is installed.").classes("mosaic-muted")


def show_allowed(paths: VarPaths) -> None:
    """Show what `mosaic.toml` allows beyond MOSAIC's own code."""
    try:
        settings = load_settings(paths.settings)
    except MosaicError as error:
        ui.label(error.one_line()).props("role=alert")
        return
    rows = {
        "scripts": [str(path) for path in settings.scripts],
        "checkouts": [str(path) for path in settings.checkouts],
        "env_modules": list(settings.env_modules),
    }
    for name, values in rows.items():
        shown = ", ".join(values) or "nothing"
        ui.label(f"{name}: {shown}").classes("break-words")
    hint = f"[allow] in {paths.settings} says so; a change counts from the next run."
    ui.label(hint).classes("mosaic-muted text-sm break-words")


def show_versions() -> None:
    found = {"python": sys.version.split()[0]}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    with ui.element("dl").classes("grid grid-cols-[auto_1fr] gap-x-4 gap-y-0 m-0 mosaic-mono"):
        for name, text in found.items():
            with ui.element("dt").classes("mosaic-muted"):
                ui.label(name)
            with ui.element("dd").classes("m-0"):
                ui.label(text)
