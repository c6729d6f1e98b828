"""Live frames of a script's environments."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from typing import Any

from cleanrl_worker.lane_settings import OFF, LaneSettings, read_lane_settings
from mosaic.contracts.errors import MosaicError
from mosaic.fastlane.lane_set import LaneSet

_LOG = logging.getLogger(__name__)

Make = Callable[[], Any]


class ScriptLanes:
    """The lanes of the run; they are made when the script builds its environments.

    `is_wanted` says whether the environment that is being made now is one of those shown.
    """

    def __init__(self, run_id: str, settings: LaneSettings) -> None:
        self._run_id = run_id
        self._settings = settings
        self._set: LaneSet | None = None
        self._wanted: frozenset[int] = frozenset()
        self._shows: dict[int, Any] = {}
        self._sums: dict[int, float] = {}
        self.is_wanted = False

    @classmethod
    def open(cls) -> ScriptLanes | None:
        settings = read_lane_settings(os.environ)
        run_id = os.environ.get("MOSAIC_RUN_ID")
        return None if settings.mode == OFF or not run_id else cls(run_id, settings)

    def numbered(self, functions: list[Make]) -> list[Make]:
        """Return the functions so that each says which environment it makes."""
        self._wanted = frozenset(self._settings.shown(len(functions)))
        return [self._numbered(index, make) for index, make in enumerate(functions)]

    def _numbered(self, index: int, make: Make) -> Make:
        def numbered() -> Any:
            self.is_wanted = index in self._wanted
            try:
                return make()
            finally:
                self.is_wanted = False

        return numbered

    def prepare(self, env: Any) -> None:
        from cleanrl_worker.envs.pictures import prepare_renderer

        prepare_renderer(env, self._settings.max_dim)

    def show(self, envs: Any) -> None:
        """Show a vector environment from now on, in the place of the one before."""
        from cleanrl_worker.envs.pictures import take_picture
        from cleanrl_worker.showing import Show, View

        lanes = self._open(envs.num_envs)
        if lanes is None:
            return
        view = View(lanes.directory, self._settings, self._settings.shown(envs.num_envs))

        def draw(index: int, max_dim: int) -> Any:
            return take_picture(envs.envs[index], max_dim)

        for show in self._shows.values():
            show.close()
        self._shows = {id(envs): Show(lanes, view, envs.num_envs, draw)}
        self._sums = dict.fromkeys(view.shown, 0.0)

    def stepped(self, envs: Any, result: tuple[Any, ...]) -> None:
        show = self._shows.get(id(envs))
        if show is None:
            return
        _, rewards, terminations, truncations, infos = result
        for index in show.shown:
            self._sums[index] += float(rewards[index])
            if terminations[index] or truncations[index]:
                show.ended(index, _episode_return(infos, index, self._sums[index]))
                self._sums[index] = 0.0
        show.stepped(rewards)

    def cannot_draw(self, error: Exception) -> None:
        lanes = self._open(1)
        if lanes is not None:
            lanes.set_status("no_renderer", f"{type(error).__name__}: {error}")

    def _open(self, num_envs: int) -> LaneSet | None:
        if self._set is None:
            settings = self._settings
            try:
                self._set = LaneSet.create(
                    self._run_id,
                    mode=settings.mode,
                    lanes=len(settings.shown(num_envs)),
                    slot=settings.slot,
                    budget=settings.budget,
                    view_budget=settings.view_budget,
                )
                self._set.set_status("starting")
            except MosaicError as error:  # no room for frames is no reason not to train
                _LOG.warning("no live frames: %s", error.one_line())
        return self._set


def _episode_return(infos: Mapping[str, Any], index: int, summed: float) -> float:
    """Return what RecordEpisodeStatistics found, else the sum: wrappers above it clip rewards."""
    final = infos.get("final_info")
    episode = final[index].get("episode") if final is not None and final[index] else None
    return float(episode["r"].item()) if episode and hasattr(episode["r"], "item") else summed
