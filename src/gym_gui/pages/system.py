"""System: the machine, the daemon, what runs and what waits, and what the doctor finds."""

from __future__ import annotations

import asyncio

from nicegui import ui

from gym_gui.diagnosis import diagnose
from gym_gui.frame import frame, page_at
from gym_gui.live import Live
from gym_gui.run_processes import processes_by_run
from gym_gui.widgets.copy_command import copy_command
from gym_gui.widgets.findings import show_findings
from gym_gui.widgets.headings import heading
from gym_gui.widgets.machine import DaemonFacts, MachineFacts
from gym_gui.widgets.system_lists import (
    show_allowed,
    show_processes,
    show_queue,
    show_versions,
    show_workers,
)
from mosaic.workers.discovery import load_catalogue

_PROCESSES_EVERY_S = 5.0
_COLUMN = "gap-4 min-w-0 basis-80 grow"


def add(live: Live) -> None:
    @page_at("/system")
    def page() -> None:
        with frame(live, "System"):
            SystemView(live)


class SystemView:
    """One open page."""

    def __init__(self, live: Live) -> None:
        self._live = live
        heading("System", 1)
        with ui.row().classes("w-full gap-4 items-start"):
            with ui.column().classes(_COLUMN):
                self._now()
            with ui.column().classes(_COLUMN):
                self._set_up()
        self._drawn: object = None
        self._follow()
        ui.timer(1.0, self._follow)
        ui.timer(0.1, self._diagnose, once=True)
        ui.timer(_PROCESSES_EVERY_S, self._look)
        ui.timer(0.1, self._look, once=True)

    def _now(self) -> None:
        """Build what changes: the machine, what waits, what runs, what is wrong."""
        with _panel("Machine"):
            self._machine = MachineFacts(self._live.paths)
        with _panel("Queue"):
            self._queue = ui.column().classes("w-full gap-1")
        with _panel("Processes of the runs"):
            self._processes = ui.column().classes("w-full gap-2")
        with _panel("Doctor"):
            with ui.row().classes("items-center gap-2"):
                self._again = ui.button("Check again", on_click=self._diagnose)
                self._again.props("outline no-caps dense").classes("px-3")
                copy_command(["doctor"])
            self._findings = ui.column().classes("w-full gap-2")

    def _set_up(self) -> None:
        """Build what is as it was installed and started."""
        with _panel("Trainer daemon"):
            self._daemon = DaemonFacts()
            copy_command(["daemon", "status"])
        with _panel("Workers"):
            show_workers(load_catalogue())
        with _panel("Allowed by the operator"):
            show_allowed(self._live.paths)
        with _panel("Versions"):
            show_versions()

    def _follow(self) -> None:
        self._machine.show(self._live.health)
        self._daemon.show(self._live)
        waiting = [run for run in self._live.unfinished() if run.state == "INIT"]
        drawn = [(run.run_id, run.revision) for run in waiting]
        if drawn != self._drawn:
            self._drawn = drawn
            show_queue(self._queue, waiting)

    async def _look(self) -> None:
        found = await asyncio.to_thread(processes_by_run)
        show_processes(self._processes, found, self._live)

    async def _diagnose(self) -> None:
        self._again.disable()
        show_findings(self._findings, await diagnose(self._live.paths))
        self._again.enable()


def _panel(title: str) -> ui.column:
    panel = ui.column().classes("mosaic-panel w-full gap-2 min-w-0")
    with panel:
        heading(title)
    return panel
