"""The states of a run: which moves there are, and that an end is an end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.states import RunState, can_move, is_terminal, move, read_state

LEGAL = {
    ("INIT", "HANDSHAKE"),
    ("HANDSHAKE", "READY"),
    ("READY", "EXECUTING"),
    ("EXECUTING", "PAUSED"),
    ("PAUSED", "EXECUTING"),
    *((state, "TERMINATED") for state in ("INIT", "HANDSHAKE", "READY", "EXECUTING", "PAUSED")),
    # Contact is not missed while a run is paused.
    *((state, "FAULTED") for state in ("INIT", "HANDSHAKE", "READY", "EXECUTING")),
}


@pytest.mark.parametrize("before", list(RunState))
@pytest.mark.parametrize("after", list(RunState))
def test_the_table_of_moves(before: RunState, after: RunState) -> None:
    assert can_move(before, after) == ((before.value, after.value) in LEGAL)


@given(st.lists(st.sampled_from(list(RunState)), max_size=30))
def test_a_terminal_state_never_changes(wishes: list[RunState]) -> None:
    state = RunState.INIT
    ended: RunState | None = None
    for wish in wishes:
        if can_move(state, wish):
            state = move(state, wish)
        else:
            with pytest.raises(ConfigError):
                move(state, wish)
        ended = ended or (state if is_terminal(state) else None)
        assert ended is None or state == ended
    assert state is not RunState.UNKNOWN


def test_a_refused_move_says_what_is_allowed() -> None:
    with pytest.raises(ConfigError, match="From READY: EXECUTING, FAULTED, TERMINATED"):
        move(RunState.READY, RunState.PAUSED)
    with pytest.raises(ConfigError, match="it has ended"):
        move(RunState.TERMINATED, RunState.EXECUTING)


def test_a_state_of_a_newer_version_is_shown_as_unknown() -> None:
    assert read_state("EXECUTING") is RunState.EXECUTING
    assert read_state("TELEPORTING") is RunState.UNKNOWN
