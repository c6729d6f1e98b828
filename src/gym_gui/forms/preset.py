"""The train form filled with what a sweep found."""

from __future__ import annotations

from gym_gui.forms.draft import TrainDraft
from mosaic.contracts.errors import NotFound
from mosaic.contracts.paths import VarPaths
from mosaic.sweeps.reading import read_study
from mosaic.sweeps.request import load_request
from mosaic.sweeps.starting import find_sweep
from mosaic.workers.discovery import Catalogue


def best_draft(paths: VarPaths, catalogue: Catalogue, study: str) -> TrainDraft:
    """Return the training with the values of a study's best trial."""
    own = find_sweep(paths, study)
    request = load_request(own)
    best = read_study(own.database).best
    if best is None:
        raise NotFound(f"The study {study!r} has no complete trial yet.")
    draft = TrainDraft(catalogue, request.algo, {**request.given, **best.params})
    draft.settle()
    return draft
