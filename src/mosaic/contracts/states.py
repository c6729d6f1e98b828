"""The states of a run, as a pure table."""

from __future__ import annotations

from enum import StrEnum

from mosaic.contracts.errors import ConfigError


class RunState(StrEnum):
    INIT = "INIT"
    HANDSHAKE = "HANDSHAKE"
    READY = "READY"
    EXECUTING = "EXECUTING"
    PAUSED = "PAUSED"
    TERMINATED = "TERMINATED"
    FAULTED = "FAULTED"
    UNKNOWN = "UNKNOWN"  # a state of a newer version: shown, never entered


class Outcome(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


_ENDS = frozenset({RunState.TERMINATED, RunState.FAULTED})

MOVES: dict[RunState, frozenset[RunState]] = {
    RunState.INIT: frozenset({RunState.HANDSHAKE}) | _ENDS,
    RunState.HANDSHAKE: frozenset({RunState.READY}) | _ENDS,
    RunState.READY: frozenset({RunState.EXECUTING}) | _ENDS,
    RunState.EXECUTING: frozenset({RunState.PAUSED}) | _ENDS,
    RunState.PAUSED: frozenset({RunState.EXECUTING, RunState.TERMINATED}),
    RunState.TERMINATED: frozenset(),
    RunState.FAULTED: frozenset(),
    RunState.UNKNOWN: frozenset(),
}


def is_terminal(state: RunState) -> bool:
    return state in _ENDS


def can_move(before: RunState, after: RunState) -> bool:
    return after in MOVES[before]


def move(before: RunState, after: RunState) -> RunState:
    """Return the new state, or refuse an illegal move."""
    if not can_move(before, after):
        allowed = ", ".join(sorted(MOVES[before])) or "nothing: it has ended"
        raise ConfigError(f"A run cannot go from {before} to {after}. From {before}: {allowed}.")
    return after


def read_state(text: str) -> RunState:
    """Return the state of this name; one that this version does not know is UNKNOWN."""
    try:
        return RunState(text)
    except ValueError:
        return RunState.UNKNOWN
