"""When a frame may be rendered: the interval, the share of the run's time, and who looks on."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest

from mosaic.fastlane.budget import Budget
from mosaic.fastlane.status import ViewerInfo


@dataclass
class Training:
    """A run on one core, in a time of its own, that asks at every step of a millisecond."""

    frame_s: float
    viewers: ViewerInfo
    interval_s: float = 0.033
    first_frame_s: float | None = None
    now: float = 1000.0

    def __post_init__(self) -> None:
        self.budget = Budget(
            self.interval_s, lambda: self.viewers, clock=self.clock, cpu=self.clock
        )
        self.frames: list[float] = []

    def clock(self) -> float:
        return self.now

    def train(self, seconds: float, step_s: float = 0.001) -> int:
        """Train for a while; return how many frames there were."""
        end, before = self.now + seconds, len(self.frames)
        while self.now < end:
            self.now += step_s
            if self.budget.is_due():
                self.render()
        return len(self.frames) - before

    def render(self) -> None:
        self.budget.begin()
        self.frames.append(self.now)
        is_first = len(self.frames) == 1 and self.first_frame_s is not None
        self.now += self.first_frame_s if is_first and self.first_frame_s else self.frame_s
        self.budget.end()


NOBODY = ViewerInfo(0, 0.02)
SOMEBODY = ViewerInfo(1, 0.05)


def test_a_cheap_frame_comes_at_the_interval_while_somebody_looks() -> None:
    training = Training(frame_s=0.001, viewers=SOMEBODY)
    assert training.train(10) == pytest.approx(10 / 0.033, rel=0.1)
    account = training.budget.account()
    assert account.limited_by == "interval"
    assert account.rate_hz == pytest.approx(30, rel=0.1)


def test_without_a_viewer_there_is_at_most_a_frame_a_second() -> None:
    training = Training(frame_s=0.0001, viewers=NOBODY)
    assert training.train(20) == 20
    gaps = [later - sooner for sooner, later in itertools.pairwise(training.frames)]
    assert min(gaps) >= 1
    assert training.budget.account().limited_by == "interval"


@pytest.mark.parametrize("frame_s", [0.0005, 0.004, 0.050, 0.700])
@pytest.mark.parametrize("viewers", [NOBODY, SOMEBODY, ViewerInfo(3, 0.3)])
def test_the_account_stays_within_the_share_whatever_a_frame_costs(
    frame_s: float, viewers: ViewerInfo
) -> None:
    training = Training(frame_s, viewers)
    training.train(120)
    account = training.budget.account()
    spent = account.cpu_s - training.budget.free_cpu_s
    assert spent <= viewers.budget * 120
    assert len(training.frames) > 2


def test_an_expensive_frame_comes_less_often_and_says_so() -> None:
    training = Training(frame_s=0.050, viewers=SOMEBODY)
    # 5 % of a second pays for one frame.
    assert training.train(60) == pytest.approx(60, abs=3)
    account = training.budget.account()
    assert account.limited_by == "budget"
    assert account.rate_hz == pytest.approx(1, rel=0.1)


def test_the_first_frame_is_free() -> None:
    training = Training(frame_s=0.001, viewers=SOMEBODY, first_frame_s=3.0)
    training.train(5)
    assert training.budget.free_cpu_s == pytest.approx(3)
    # Three seconds of starting the renderer are in the account, and delay no other frame.
    assert training.budget.account().cpu_s > 3
    assert training.frames[1] - training.frames[0] < 3.1


def test_with_no_budget_the_first_frame_is_the_only_one() -> None:
    training = Training(frame_s=0.001, viewers=ViewerInfo(1, 0.0))
    assert training.train(30) == 1
    assert training.budget.account().limited_by == "budget"


def test_viewers_who_come_and_go_get_no_more_than_their_share() -> None:
    training = Training(frame_s=0.0045, viewers=SOMEBODY)
    training.train(10)
    spent_s = 0.0
    for _ in range(60):
        training.viewers = NOBODY
        training.train(1)
        before_s = training.budget.account().cpu_s
        training.viewers = SOMEBODY
        training.train(1)
        spent_s += training.budget.account().cpu_s - before_s
    assert spent_s <= 0.05 * 60
    assert spent_s > 0.04 * 60


def test_a_new_viewer_is_served_within_a_tenth_of_a_second() -> None:
    training = Training(frame_s=0.010, viewers=NOBODY)
    training.train(30)
    training.viewers = SOMEBODY
    came, before = training.now, len(training.frames)
    training.train(10)
    assert training.frames[before] - came < 0.15
    assert len(training.frames) - before == pytest.approx(10 * 0.05 / 0.010, abs=3)


def test_a_viewer_that_raises_the_budget_gets_more_frames() -> None:
    training = Training(frame_s=0.050, viewers=SOMEBODY)
    before = training.train(20)
    training.viewers = ViewerInfo(1, 0.5)
    training.train(10)
    assert training.train(20) > 8 * before


def test_what_a_generous_viewer_had_is_not_held_against_the_next() -> None:
    training = Training(frame_s=0.100, viewers=ViewerInfo(1, 0.5))
    training.train(60)
    training.viewers = SOMEBODY
    training.train(10)
    assert training.train(20) == pytest.approx(20 * 0.05 / 0.100, abs=2)


def test_a_renderer_slower_than_the_interval_is_named() -> None:
    training = Training(frame_s=0.040, viewers=ViewerInfo(1, 0.99))
    training.train(5)
    assert training.budget.account().limited_by == "renderer"


def test_asking_reads_no_table_before_the_interval_is_over() -> None:
    asked: list[float] = []
    now = 0.0

    def look() -> ViewerInfo:
        asked.append(now)
        return SOMEBODY

    budget = Budget(0.033, look, clock=lambda: now, cpu=lambda: now)
    budget.begin()
    budget.end()
    for step in range(33):
        now = step / 1000
        assert not budget.is_due()
    assert asked == []
