"""States move by a table; how a run ends follows from its last word and its exit."""

from __future__ import annotations

import random

import pytest

from mosaic.contracts.states import Outcome, RunState, can_move, is_terminal
from mosaic.trainer.lifecycle import TABLE, Exit, Sign, after, conclude, was_crash


def test_every_row_of_the_table_is_a_legal_move() -> None:
    for (before, _), state in TABLE.items():
        assert can_move(before, state), (before, state)


def test_a_run_goes_its_way() -> None:
    state = RunState.INIT
    for sign in (Sign.LAUNCHED, Sign.REGISTERED, Sign.WORKED, Sign.PAUSED, Sign.UNPAUSED):
        state = after(state, sign)
    assert state is RunState.EXECUTING
    assert after(state, Sign.ENDED) is RunState.TERMINATED
    assert after(state, Sign.LOST) is RunState.FAULTED


def test_late_and_doubled_signs_change_nothing() -> None:
    assert after(RunState.EXECUTING, Sign.REGISTERED) is RunState.EXECUTING
    assert after(RunState.PAUSED, Sign.WORKED) is RunState.PAUSED
    assert after(RunState.PAUSED, Sign.LOST) is RunState.PAUSED


def test_a_terminal_state_never_changes_whatever_comes() -> None:
    for seed in range(10_000):
        chooser = random.Random(seed)
        state = RunState.INIT
        ended: RunState | None = None
        for _ in range(12):
            state = after(state, chooser.choice(list(Sign)))
            assert ended in (None, state)
            ended = state if is_terminal(state) else None


@pytest.mark.parametrize(
    ("exit", "event", "cancel", "outcome", "reason"),
    [
        (Exit(code=0), "run_completed", None, Outcome.SUCCEEDED, ""),
        (Exit(), "run_completed", None, Outcome.SUCCEEDED, ""),
        (Exit(code=0), "run_completed", "Cancelled.", Outcome.SUCCEEDED, ""),
        (Exit(code=143), "run_cancelled", "Cancelled.", Outcome.CANCELLED, "Cancelled."),
        (Exit(signal=9), None, "Cancelled.", Outcome.CANCELLED, "Cancelled."),
        (Exit(code=143), "run_cancelled", None, Outcome.CANCELLED, "Stopped by SIGTERM"),
        (Exit(code=1), "run_failed", None, Outcome.FAILED, "boom"),
        (Exit(signal=9), None, None, Outcome.FAILED, "killed by signal 9 (SIGKILL)"),
        (Exit(signal=9), "run_failed", None, Outcome.FAILED, "killed by signal 9"),
        (Exit(code=3), None, None, Outcome.FAILED, "exit code 3"),
        (Exit(), None, None, Outcome.FAILED, "exit code was not seen"),
        (Exit(code=0), None, None, Outcome.SUCCEEDED, ""),
    ],
)
def test_the_end_of_a_run(
    exit: Exit, event: str | None, cancel: str | None, outcome: Outcome, reason: str
) -> None:
    end = conclude(exit, event, {"error": "boom", "signal": "SIGTERM"}, cancel)
    assert end.outcome is outcome
    assert reason in end.reason


def test_only_a_run_that_was_lost_is_a_crash() -> None:
    killed, failed = Exit(signal=9), Exit(code=1)
    assert was_crash(killed, conclude(killed, None, {}, None))
    assert was_crash(Exit(), conclude(Exit(), None, {}, None))
    assert not was_crash(failed, conclude(failed, "run_failed", {}, None))
    assert not was_crash(killed, conclude(killed, None, {}, "Cancelled."))
