"""What a run says of its lanes, and who looks at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from mosaic.contracts.extras import VIDEO_MODES

# Words of the contract; their places here are the numbers in the file.
STATUSES = ("off", "starting", "no_renderer", "live", "ended")
LIMITS = ("interval", "budget", "renderer")
MODES = VIDEO_MODES

MAX_LANES = 16
MAX_VIEWERS = 16
# More than this a viewer cannot ask of a run.
MAX_WANTED_BUDGET = 0.5


@dataclass(frozen=True, slots=True)
class ViewerInfo:
    """How many look on now, and the share of the run's time that frames may take."""

    count: int
    budget: float


class Account(NamedTuple):
    """What rendering reached and cost. Times are processor seconds of all threads."""

    rate_hz: float = 0.0
    limited_by: str = "interval"
    cpu_s: float = 0.0
    run_cpu_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Notice:
    """What the run says of itself. It changes a few times in its life."""

    status: str = "starting"
    reason: str = ""
    mode: str = "single"
    slot: int = 0
    lanes: int = 1
    is_evaluation: bool = False
    evaluation: str = ""
    budget: float = 0.02
    view_budget: float = 0.05


@dataclass(frozen=True, slots=True)
class LaneStatus:
    """All that a reader can say of a run's lanes."""

    notice: Notice
    account: Account
    viewers: ViewerInfo

    @property
    def status(self) -> str:
        return self.notice.status

    @property
    def reason(self) -> str:
        return self.notice.reason
