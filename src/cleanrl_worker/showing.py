"""Pictures of a batch of environments, written into its lanes as it steps.

Whether to draw is decided before anything is drawn. It knows no environment: whoever steps a batch
says how one is drawn.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cleanrl_worker.lane_settings import LaneSettings
from mosaic.fastlane.budget import Budget
from mosaic.fastlane.frame import FrameMetrics
from mosaic.fastlane.lane_set import LaneSet
from mosaic.fastlane.writer import LaneWriter

_LOG = logging.getLogger(__name__)

# Of an episode's return in the smoothed return that is shown.
_SMOOTHING = 0.1
_REPORT_INTERVAL_S = 0.5

Picture = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class View:
    """What of a batch is shown: the lane of each environment, and how."""

    directory: Path
    settings: LaneSettings
    shown: Mapping[int, int]  # environment: lane

    def to_json(self) -> dict[str, Any]:
        settings = asdict(self.settings)
        return {
            "directory": str(self.directory),
            "settings": settings,
            "shown": list(self.shown.items()),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> View:
        settings = LaneSettings(**document["settings"])
        return cls(Path(document["directory"]), settings, dict(document["shown"]))

    def share(self, first: int, count: int) -> View:
        """Return the part of this view that shows some environments, which count from 0 then."""
        part = {
            index - first: lane
            for index, lane in self.shown.items()
            if first <= index < first + count
        }
        return View(self.directory, self.settings, part)


class Show:
    """Draws the environments of a batch in turn, within the budget.

    In a grid the lanes take turns, so that a dear picture never makes training wait for all.
    """

    def __init__(
        self, lanes: LaneSet, view: View, num_envs: int, draw: Callable[[int, int], Picture]
    ) -> None:
        self._draw = draw
        self._num_envs = num_envs
        self._max_dim = view.settings.max_dim
        self._lanes = lanes
        self.shown = dict(view.shown)
        self._turns = list(self.shown)
        self._writers = {
            index: LaneWriter(view.directory, lane) for index, lane in self.shown.items()
        }
        interval_s = view.settings.interval_s / len(self._turns)
        self._budget = Budget(interval_s, lanes.viewers)
        self._is_due = self._budget.is_due
        self._returns: dict[int, float] = {}
        self._episodes = dict.fromkeys(self._turns, 0)
        self._steps = 0
        self._has_begun = False
        self._reported_at = self._counted_at = time.monotonic()
        self._counted = 0
        self._rate_hz = 0.0

    def stepped(self, rewards: Any) -> None:
        """Count a step of the batch, and draw if a picture is due."""
        self._steps += 1
        if self._is_due():
            self._show(rewards)

    def ended(self, index: int, total_reward: float) -> None:
        """Note the return of an episode, if its environment is shown."""
        if index in self.shown:
            before = self._returns.get(index, total_reward)
            self._returns[index] = before + _SMOOTHING * (total_reward - before)
            self._episodes[index] += 1

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()

    def _show(self, rewards: Any) -> None:
        """Draw the environment whose turn it is; the first time, every one."""
        self._budget.begin()
        turns = self._turns if not self._has_begun else [self._turns[0]]
        try:
            for index in turns:
                picture = self._draw(index, self._max_dim)
                self._writers[index].write(picture, self._metrics(index, rewards))
        except Exception as error:  # noqa: BLE001 - renderers fail in any way; training goes on
            _LOG.exception("the renderer failed: live frames are off")
            self._lanes.set_status("no_renderer", f"{type(error).__name__}: {error}")
            self._is_due = _never
            return
        self._turns.append(self._turns.pop(0))
        if not self._has_begun:
            self._has_begun = True
            self._lanes.set_status("live")
        self._budget.end()
        self._report()

    def _metrics(self, index: int, rewards: Any) -> FrameMetrics:
        return FrameMetrics(
            last_reward=float(rewards[index]),
            rolling_return=self._returns.get(index, 0.0),
            step_rate_hz=self._rate_hz,
            episode=self._episodes[index],
            step=self._steps * self._num_envs,
        )

    def _report(self) -> None:
        now = time.monotonic()
        if now - self._reported_at < _REPORT_INTERVAL_S:
            return
        self._rate_hz = (self._steps - self._counted) * self._num_envs / (now - self._counted_at)
        self._reported_at = self._counted_at = now
        self._counted = self._steps
        account = self._budget.account()
        self._lanes.report(
            account.rate_hz / len(self._turns),
            account.limited_by,
            account.cpu_s,
            account.run_cpu_s,
            place=min(self.shown.values()),
        )


def _never() -> bool:
    return False
