"""Trials: the study that a run is a trial of."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import quote

from nicegui import ui

from gym_gui.run_view import RunView, dig, read_document
from gym_gui.tabs.shown import Shown
from gym_gui.widgets.empty import empty
from gym_gui.widgets.headings import heading
from gym_gui.widgets.trial_table import TrialTable
from mosaic.contracts.errors import ConfigError, MosaicError
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.worker_config import extract_worker_config
from mosaic.proto import trainer_pb2 as pb
from mosaic.sweeps.reading import Study, read_study

_EVERY = 3  # refreshes


def build(view: RunView) -> Shown:
    try:
        database = study_file(view.details, view.live.paths)
    except MosaicError as error:
        empty(error.one_line())
        return Shown()
    if database is None:
        empty("This run belongs to no study.", action="Sweeps", path="/sweeps")
        return Shown()
    return Shown(_Trials(view, database).refresh)


def study_file(details: pb.RunDetails, paths: VarPaths) -> Path | None:
    """Return the study that a run names; None where it names none.

    Manifest and config may have come with an archive: what they name is opened only inside the
    run, or where this installation keeps its sweeps.
    """
    named = dig(read_document(details.manifest_json), "artifacts", "optuna", "db_path")
    if not named:
        config = extract_worker_config(read_document(details.config_json))
        named = dig(config, "extras", "optuna_db")
    if not isinstance(named, str) or not named:
        return None
    if "\0" not in named:
        root = Path(details.run_dir).resolve()
        path = (root / named).resolve()
        if path.is_relative_to(root) or _is_of_a_sweep(path, paths):
            return path
    raise ConfigError(
        f"The study {named!r} is not opened: it lies neither in the run's directory nor in "
        f"{str(paths.sweeps)!r}.",
        hint="'mosaic sweep --open FILE' shows a study that you trust.",
    )


def _is_of_a_sweep(path: Path, paths: VarPaths) -> bool:
    try:
        return path == paths.sweep(path.parent.name).database.resolve()
    except ConfigError:  # no name that a sweep can have
        return False


class _Trials:
    def __init__(self, view: RunView, database: Path) -> None:
        self._view = view
        self._database = database
        self._seconds = 0
        with ui.column().classes("w-full mosaic-panel gap-2"):
            with ui.row().classes("w-full items-center gap-3"):
                heading("Trials")
                if _is_of_a_sweep(database, view.live.paths):
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
