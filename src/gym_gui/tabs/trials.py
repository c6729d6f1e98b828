"""Trials: the study that a run is a trial of."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import quote

from nicegui import ui

from gym_gui.run_view import RunView
from gym_gui.tabs.shown import Shown
from gym_gui.widgets.empty import empty
from gym_gui.widgets.headings import heading
from gym_gui.widgets.trial_table import TrialTable
from mosaic.contracts.errors import MosaicError
from mosaic.sweeps.reading import Study, read_study

_EVERY = 3  # refreshes


def build(view: RunView) -> Shown:
    database = view.artifact("optuna", "db_path") or view.extras.get("optuna_db")
    if not isinstance(database, str) or not database:
        empty("This run belongs to no study.", action="Sweeps", path="/sweeps")
        return Shown()
    return Shown(_Trials(view, view.run_dir / database).refresh)


class _Trials:
    def __init__(self, view: RunView, database: Path) -> None:
        self._view = view
        self._database = database
        self._seconds = 0
        with ui.column().classes("w-full mosaic-panel gap-2"):
            with ui.row().classes("w-full items-center gap-3"):
                heading("Trials")
                if database.parent.parent == view.live.paths.sweeps:
                    name = database.parent.name
                    ui.link(name, f"/sweeps/{quote(name)}")
            self._line = ui.label("Reading the study …").classes("mosaic-muted")
            self._table = TrialTable()

    async def refresh(self) -> None:
        self._seconds += 1
        if self._seconds % _EVERY != 1:
            return
        try:
            study = await asyncio.to_thread(read_study, self._database)
        except MosaicError as error:
            self._line.set_text(error.one_line())
            return
        self._line.set_text(self._own_trial(study))
        self._table.show(study)

    def _own_trial(self, study: Study) -> str:
        run_id = self._view.run_id
        own = [trial.number for trial in study.trials if run_id in trial.run_ids]
        where = f"This run is of trial {own[0]}." if own else "This run is none of its trials."
        return f"{where} {len(study.trials)} trials, best first."
