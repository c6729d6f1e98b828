"""When a frame may be rendered: no sooner than the interval, and within a share of the run's time.

Time is counted in processor seconds of all threads. A renderer in software works in several, and
what they take the training does not get.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable

from mosaic.fastlane.status import Account, ViewerInfo

# Nobody looks: a frame a second keeps the lane fresh for the next who does.
UNWATCHED_INTERVAL_S = 1.0
# The share holds over this time: what was not used before is not saved up for later.
WINDOW_S = 10.0
# A refusal for the budget stands for so long: asking costs time as well.
_RECHECK_S = 0.005
# While nobody looks, so often is it looked whether somebody does.
_LOOK_S = 0.1
# Of the cost of the last frame in what the next is expected to cost.
_SMOOTHING = 0.2
_RATE_FRAMES = 30


class Budget:
    """Decides before anything is rendered, and keeps the account of one process.

        if budget.is_due():
            budget.begin()
            ...render and write, one lane or all of this process...
            budget.end()

    The first frame is free: whoever looks sees something at once, and a renderer is slow to start.
    Its time is in the account, but not held against the share. `viewers` tells who looks on and the
    share that holds (`LaneSet.viewers`).
    """

    def __init__(
        self,
        interval_s: float,
        viewers: Callable[[], ViewerInfo],
        *,
        clock: Callable[[], float] = time.monotonic,
        cpu: Callable[[], float] = time.process_time,
    ) -> None:
        self._interval_s = interval_s
        self._viewers = viewers
        self._clock = clock
        self._cpu = cpu
        # When to look again, when the interval is over, and when the frame was begun.
        self._next_s = self._due_s = self._begun_s = clock()
        self._begun_cpu_s = 0.0
        self._is_watched = False
        self._is_awaited = False  # by a viewer who has just come
        self._was_refused = False
        self._has_frame = False
        # Processor time: what was put by for frames until when, and what the next may cost.
        self._credit_s = self._counted_s = self._expected_s = 0.0
        self._spent_s = 0.0
        self._frames: deque[tuple[float, str]] = deque(maxlen=_RATE_FRAMES)
        self.free_cpu_s = 0.0

    def is_due(self) -> bool:
        """Say whether to render now. It is cheap to ask at every step of the environment."""
        now = self._clock()
        if now < self._next_s:
            return False
        if not self._has_frame:
            return True
        viewers = self._viewers()
        self._notice(is_watched=viewers.count > 0)
        if not self._is_watched and now < self._begun_s + UNWATCHED_INTERVAL_S:
            self._next_s = now + _LOOK_S
            return False
        if not self._is_affordable(viewers.budget):
            self._was_refused = True
            self._next_s = now + _RECHECK_S
            return False
        return True

    def begin(self) -> None:
        self._begun_s, self._begun_cpu_s = self._clock(), self._cpu()

    def end(self) -> None:
        now, cpu_s = self._clock(), self._cpu()
        cost_s = cpu_s - self._begun_cpu_s
        if self._has_frame:
            self._spend(cost_s)
        else:
            self.free_cpu_s, self._counted_s = cost_s, cpu_s
        self._has_frame = True
        self._frames.append((self._begun_s, self._limit(now)))
        self._next_s = self._due_s = self._begun_s + self._interval_s
        self._was_refused = False

    def account(self) -> Account:
        """Return what was reached over the last frames, and what all of them cost."""
        limits = Counter(limit for _, limit in self._frames)
        limit = "budget" if self._was_refused else max(limits, key=limits.__getitem__, default="")
        return Account(
            rate_hz=self._rate_hz(),
            limited_by=limit or "interval",
            cpu_s=self._spent_s + self.free_cpu_s,
            run_cpu_s=self._cpu(),
        )

    def _notice(self, *, is_watched: bool) -> None:
        if is_watched and not self._is_watched:
            # One frame at once, to be earned afterwards; what was not used while nobody looked is
            # not for the viewer.
            self._is_awaited = self._credit_s >= 0
            self._credit_s = min(self._credit_s, 0.0)
            self._counted_s = self._cpu()
        self._is_watched = is_watched

    def _is_affordable(self, share: float) -> bool:
        """Put the share of the time since the last look by; say whether it pays for a frame.

        No more is put by than ten seconds bring, or one frame costs: a frame that is dearer than
        that comes less often, not never.
        """
        cpu_s = self._cpu()
        self._credit_s += share * (cpu_s - self._counted_s)
        self._counted_s = cpu_s
        self._credit_s = min(self._credit_s, max(share * WINDOW_S, self._expected_s))
        return share > 0 and (self._is_awaited or self._credit_s >= self._expected_s)

    def _spend(self, cost_s: float) -> None:
        self._is_awaited = False
        self._spent_s += cost_s
        self._credit_s -= cost_s
        known = self._expected_s or cost_s
        self._expected_s = known + _SMOOTHING * (cost_s - known)

    def _limit(self, ended_s: float) -> str:
        """Return what kept the frame that just ended from coming sooner."""
        if self._was_refused:
            return "budget"
        was_late = self._begun_s - self._due_s > self._interval_s / 2
        is_slow = was_late or ended_s - self._begun_s > self._interval_s
        return "renderer" if is_slow and self._is_watched else "interval"

    def _rate_hz(self) -> float:
        if len(self._frames) < 2:
            return 0.0
        return (len(self._frames) - 1) / (self._clock() - self._frames[0][0])
