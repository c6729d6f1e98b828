"""The lanes of this run: made where it has an id and its frames are not off."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

from cleanrl_worker.lane_settings import OFF, read_lane_settings
from cleanrl_worker.showing import View
from mosaic.contracts.errors import StorageError
from mosaic.fastlane import hud
from mosaic.fastlane.lane_set import LaneSet

_LOG = logging.getLogger(__name__)

# The owner of the lanes: they go when this process does.
_open: list[LaneSet] = []


def show_batch(summary: Mapping[str, Any]) -> None:
    """Show the numbers of an evaluation's last batch over its frames."""
    names = ("batch_index", "episodes", "avg_return", "min_return", "max_return")
    for lanes in _open:
        lanes.set_evaluation(hud.evaluation(*(summary[name] for name in names)))


def open_view(num_envs: int, *, is_evaluation: bool = False) -> View | None:
    """Make the lanes of the run, and say what they show; None: nothing is shown.

    A process that belongs to no run has nobody who could look.
    """
    settings = read_lane_settings(os.environ)
    run_id = os.environ.get("MOSAIC_RUN_ID")
    if settings.mode == OFF or not run_id:
        return None
    shown = settings.shown(num_envs)
    try:
        lanes = LaneSet.create(
            run_id,
            mode=settings.mode,
            lanes=len(shown),
            slot=settings.slot,
            budget=settings.budget,
            view_budget=settings.view_budget,
            is_evaluation=is_evaluation,
        )
    except StorageError as error:  # no room for frames is no reason not to train
        _LOG.warning("no live frames: %s", error.one_line())
        return None
    _open.append(lanes)
    lanes.set_status("starting")
    return View(lanes.directory, settings, shown)
