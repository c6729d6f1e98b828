"""The machine and the daemon in numbers."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import psutil
from nicegui import ui

from gym_gui import formatting
from gym_gui.live import Live
from gym_gui.widgets.headings import Facts
from mosaic.contracts.paths import VarPaths
from mosaic.proto import trainer_pb2 as pb


class MachineFacts:
    def __init__(self, paths: VarPaths) -> None:
        self._root = paths.root
        self._facts = Facts(
            processors="Cores that runs can reserve, and the load of the last minute.",
            memory="What is free of the machine's memory, and of what runs can reserve.",
            GPUs="Those that runs can reserve, and who holds each.",
            disk="What is free where the data directory lies.",
            data_directory="Where runs, logs and databases lie.",
        )

    def show(self, health: pb.Health | None) -> None:
        memory, disk = psutil.virtual_memory(), shutil.disk_usage(_nearest(self._root))
        cores = f"{psutil.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
        free = f"{formatting.size(memory.available)} of {formatting.size(memory.total)} available"
        if health is not None:
            cores += f", {health.free_cpus} of {health.total_cpus} not reserved"
            free += f", {formatting.size(health.free_memory_mb * 2**20)} not reserved"
        self._facts.show(
            processors=cores,
            memory=free,
            GPUs=_gpus(health),
            disk=f"{formatting.size(disk.free)} of {formatting.size(disk.total)} free",
            data_directory=str(self._root),
        )


class DaemonFacts:
    def __init__(self) -> None:
        self._facts = Facts(
            state="Whether it answers.",
            version="Of MOSAIC, as the daemon runs it.",
            process="Its process id, and since when it runs.",
            address="Where it listens, behind a token.",
            runs="How many there are in each state.",
            memory="What the daemon itself holds.",
            databases="What the runs, events and metrics take on the disk.",
        )
        self._warnings = ui.column().classes("w-full gap-1")
        self._told: list[str] = []

    def show(self, live: Live) -> None:
        health = live.health
        self._facts.show(state="answers" if live.is_connected else f"away: {live.away_because}")
        if health is None:
            return
        runs = sorted(health.runs_by_state.items())
        since = time.strftime("%Y-%m-%d %H:%M", time.localtime(time.time() - health.uptime_s))
        self._facts.show(
            version=health.version,
            process=f"{health.pid}, since {since} ({formatting.duration(health.uptime_s)})",
            address=health.target,
            runs=", ".join(f"{count} {state}" for state, count in runs) or "none",
            memory=formatting.size(health.rss_mb * 2**20),
            databases=formatting.size(health.store_bytes),
        )
        if self._told != list(health.warnings):
            self._told = list(health.warnings)
            self._show_warnings()

    def _show_warnings(self) -> None:
        self._warnings.clear()
        with self._warnings:
            for text in self._told:
                with ui.row().classes("items-center gap-2 no-wrap").props("role=alert"):
                    ui.icon("warning", size="xs").props("aria-hidden=true")
                    ui.label(text).classes("break-words min-w-0")


def _gpus(health: pb.Health | None) -> str:
    if health is None:
        return "–"
    named = [
        f"{gpu.index}: {gpu.name}, {formatting.size(gpu.memory_mb * 2**20)}"
        + (f", held by {gpu.run_id}" if gpu.run_id else ", free")
        for gpu in health.gpus
    ]
    return "; ".join(named) or "none: runs use the CPU"


def _nearest(path: Path) -> Path:
    """Return the path, or the nearest directory above it that is there."""
    return next(each for each in (path, *path.parents) if each.is_dir())
