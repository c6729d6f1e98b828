"""How signs from the outside move a run from state to state: a pure table, and how it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from mosaic.contracts.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_TERMINATED
from mosaic.contracts.states import Outcome, RunState, can_move, is_terminal
from mosaic.workers.processes import describe_exit


class Sign(Enum):
    """Something that was seen of a run."""

    LAUNCHED = auto()  # its proxy was started
    REGISTERED = auto()  # its worker is known
    WORKED = auto()  # a step, an episode, a metric, or the algorithm's heartbeat
    PAUSED = auto()
    UNPAUSED = auto()
    ENDED = auto()  # every process is gone, and why is known
    LOST = auto()  # no word from the worker for too long


_S = RunState
# What is not listed changes nothing: signs come late, twice, and after the end.
TABLE: dict[tuple[RunState, Sign], RunState] = {
    (_S.INIT, Sign.LAUNCHED): _S.HANDSHAKE,
    (_S.HANDSHAKE, Sign.REGISTERED): _S.READY,
    (_S.READY, Sign.WORKED): _S.EXECUTING,
    (_S.EXECUTING, Sign.PAUSED): _S.PAUSED,
    (_S.PAUSED, Sign.UNPAUSED): _S.EXECUTING,
    **{(state, Sign.ENDED): _S.TERMINATED for state in _S if can_move(state, _S.TERMINATED)},
    **{(state, Sign.LOST): _S.FAULTED for state in _S if can_move(state, _S.FAULTED)},
}


def after(state: RunState, sign: Sign) -> RunState:
    """Return the state that a sign leads to; the same one where it says nothing new."""
    return TABLE.get((state, sign), state)


def may_pause(state: RunState) -> bool:
    return (state, Sign.PAUSED) in TABLE


def has_process(state: RunState) -> bool:
    """Say whether a run in this state has, or is about to have, processes."""
    return state is not RunState.INIT and not is_terminal(state)


@dataclass(frozen=True, slots=True)
class Exit:
    """How a worker's process ended; without code and signal, nobody saw it end."""

    code: int | None = None
    signal: int | None = None

    @property
    def was_seen(self) -> bool:
        return self.code is not None or self.signal is not None

    def describe(self) -> str:
        if self.signal is not None:
            return f"The worker was {describe_exit(-self.signal)}."
        if self.code is not None:
            return f"The worker {describe_exit(self.code)}."
        return "The worker is gone, and its exit code was not seen."


@dataclass(frozen=True, slots=True)
class End:
    outcome: Outcome
    reason: str


def conclude(
    exit: Exit, last_event: str | None, payload: Mapping[str, Any], cancel_reason: str | None
) -> End:
    """Say how a run ended, by its last word, its exit and whether it was told to end.

    A run that had completed when the order to stop arrived has completed.
    """
    if last_event == "run_completed" and exit.code in (None, EXIT_OK):
        return End(Outcome.SUCCEEDED, "")
    if cancel_reason is not None:
        return End(Outcome.CANCELLED, cancel_reason)
    if last_event == "run_cancelled" or exit.code in (EXIT_INTERRUPTED, EXIT_TERMINATED):
        name = payload.get("signal")
        return End(Outcome.CANCELLED, f"Stopped by {name or 'a signal'} from outside.")
    if last_event == "run_failed" and exit.signal is None:
        return End(Outcome.FAILED, _one_line(payload.get("error")) or exit.describe())
    if exit.code == EXIT_OK:  # a worker that tells nothing, and ends well
        return End(Outcome.SUCCEEDED, "")
    return End(Outcome.FAILED, exit.describe())


def was_crash(exit: Exit, end: End) -> bool:
    """Say whether the run was lost, rather than refused or failed by its own code."""
    return end.outcome is Outcome.FAILED and exit.code is None


def _one_line(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
