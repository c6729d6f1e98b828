"""W&B: what the run told W&B, read from its own files; the hosted page; and sending it there."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nicegui import ui

from gym_gui.failures import FAILURES, failure_line
from gym_gui.run_view import RunView
from gym_gui.tabs.shown import Shown, once_begun
from gym_gui.wandb_sync import sync
from gym_gui.widgets.command_line import command_line
from gym_gui.widgets.empty import empty
from gym_gui.widgets.headings import heading
from gym_gui.widgets.pair_chart import PairChart
from mosaic.contracts.wandb_files import WandbLog, find_wandb_file, read_log

MOST_CHARTS = 24
_EVERY = 5  # refreshes
_HOSTED = "https://wandb.ai"


def build(view: RunView) -> Shown:
    return once_begun(view, _build)


def _build(view: RunView) -> Shown:
    if not view.artifact("wandb", "enabled") and find_wandb_file(view.run_dir / "wandb") is None:
        empty("This run is not tracked with W&B. The train form has its switch and project.")
        return Shown()
    return Shown(_Tab(view).refresh)


class _Tab:
    def __init__(self, view: RunView) -> None:
        self._view = view
        self._seconds = 0
        self._seen: tuple[str, int] | None = None
        self._folder: Path | None = None
        self._charts: dict[str, PairChart] = {}
        with ui.column().classes("w-full mosaic-panel gap-2"):
            heading("Weights & Biases")
            self._line = ui.label("W&B has not written anything yet.").props("role=status")
            self._link = ui.link("Open the hosted run", "", new_tab=True)
            self._offline = ui.column().classes("w-full gap-2")
        self._grid = ui.element("div").classes(
            "w-full grid grid-cols-1 md:grid-cols-2 xl:grid-cols-3 gap-3"
        )
        with ui.element("div").classes("w-full grid grid-cols-1 lg:grid-cols-2 gap-4"):
            self._summary = _table("Summary")
            self._config = _table("Config")
        self._link.set_visibility(False)

    async def refresh(self) -> None:
        self._seconds += 1
        if self._seconds % _EVERY != 1:
            return
        file = find_wandb_file(self._view.run_dir / "wandb")
        if file is None:
            return
        seen = (str(file), file.stat().st_size)
        if seen != self._seen:
            self._seen = seen
            self._show(await asyncio.to_thread(read_log, file))

    def _show(self, log: WandbLog) -> None:
        where = log.run_path or log.run_id or "a run without a name"
        how = "tracked offline: it lies on this machine alone" if log.is_offline else "sent to W&B"
        more = " Only the first million points are shown." if log.is_cut_short else ""
        self._line.set_text(f"{where}, {how}.{more}")
        if log.is_offline:
            self._show_sync(log.path.parent)
        elif log.run_path is not None and log.entity:
            base = os.environ.get("WANDB_BASE_URL") or _HOSTED
            host = _HOSTED if "api.wandb.ai" in base else base.rstrip("/")
            page = f"{log.entity}/{log.project}/runs/{log.run_id}"
            self._link.props(f'href="{host}/{quote(page)}"')
            self._link.set_visibility(True)
        for name in sorted(log.curves)[:MOST_CHARTS]:
            self._chart(name).show(log.curves[name])
        _fill(self._summary, log.summary)
        _fill(self._config, log.config)

    def _chart(self, name: str) -> PairChart:
        if name not in self._charts:
            with self._grid:
                self._charts[name] = PairChart(name)
        return self._charts[name]

    def _show_sync(self, folder: Path) -> None:
        if self._folder == folder:
            return
        self._folder = folder
        self._offline.clear()
        with self._offline, ui.row().classes("w-full items-center gap-2"):
            button = ui.button("Sync now", icon="cloud_upload", on_click=self._ask)
            button.props("no-caps").tooltip("Send the run to W&B; asks for your API key")
            ui.label("or in a terminal:").classes("mosaic-muted")
            command_line(shlex.join(["wandb", "sync", str(folder)]))

    async def _ask(self) -> None:
        with ui.dialog() as dialog, ui.card().classes("w-96 max-w-full"):
            heading("Send the run to W&B")
            key = ui.input("API key", password=True).props("outlined autocomplete=off")
            key.classes("w-full").tooltip("wandb.ai/authorize shows yours; it is kept nowhere")
            with ui.row().classes("w-full justify-end"):
                ui.button("Cancel", on_click=lambda: dialog.submit(None)).props("flat no-caps")
                ui.button("Send", on_click=lambda: dialog.submit(key.value)).props("no-caps")
        given = await dialog
        dialog.delete()
        if given is None or self._folder is None:
            return
        ui.notify("The run is being sent.")
        try:
            told = await sync(self._folder, str(given))
        except FAILURES as error:
            ui.notify(failure_line(error), type="negative", multi_line=True, timeout=10_000)
            return
        ui.notify(told.strip() or "Sent.", multi_line=True, close_button="Close", timeout=20_000)


def _table(title: str) -> ui.table:
    with ui.column().classes("w-full mosaic-panel min-w-0 gap-1"):
        heading(title)
        columns = [
            {"name": "name", "label": "name", "field": "name", "align": "left"},
            {"name": "value", "label": "value", "field": "value", "align": "right"},
        ]
        table = ui.table(rows=[], columns=columns, row_key="name").classes("w-full")
        table.props("flat dense wrap-cells hide-header hide-bottom :rows-per-page-options='[0]'")
        return table.style("max-height: 24rem")


def _fill(table: ui.table, values: dict[str, Any]) -> None:
    rows = [
        {"name": name, "value": f"{value:.6g}" if isinstance(value, float) else str(value)}
        for name, value in sorted(values.items())
        if not name.startswith("_")
    ]
    if table.rows != rows:
        table.rows = rows
