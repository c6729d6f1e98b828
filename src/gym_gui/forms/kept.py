"""The last training that was submitted from here, for "Train Agent" and "Configure Agent…"."""

from __future__ import annotations

from gym_gui.forms.draft import TrainDraft
from mosaic.contracts.files import make_directory, write_json_whole
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.saved_states import read_object
from mosaic.workers.discovery import Catalogue

_FIRST = "ppo"


def keep_draft(paths: VarPaths, draft: TrainDraft) -> None:
    """Keep it; no secret is part of a draft."""
    make_directory(paths.gui_last_training.parent, what="The data directory")
    write_json_whole(paths.gui_last_training, draft.to_json())


def last_draft(paths: VarPaths, catalogue: Catalogue) -> TrainDraft | None:
    return TrainDraft.from_json(catalogue, read_object(paths.gui_last_training))


def first_draft(catalogue: Catalogue) -> TrainDraft:
    """Return what a beginner sees: the training that needs no more than a minute."""
    if _FIRST in catalogue.entries:
        return TrainDraft(catalogue, _FIRST, {"env_id": "CartPole-v1", "tuned": True})
    draft = TrainDraft(catalogue, next(iter(catalogue.entries)))
    draft.given["env_id"] = draft.base("env_id")
    return draft
