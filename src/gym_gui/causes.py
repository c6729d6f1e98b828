"""Why a run is in its state, and what its user can do about it."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

from mosaic.contracts.errors import EXIT_CONFIG, EXIT_DEPENDENCY, EXIT_TERMINATED
from mosaic.contracts.states import is_terminal, read_state
from mosaic.proto import trainer_pb2 as pb


@dataclass(frozen=True, slots=True)
class Cause:
    """Lines for a person: what happened, and what to do; either may be empty."""

    what: str
    advice: str = ""


def has_ended(run: pb.Run) -> bool:
    return is_terminal(read_state(run.state))


def explain(run: pb.Run, last_lines: Sequence[str] = ()) -> Cause:
    """Return the cause of a run's state; empty for a run that does as it should."""
    if run.is_cancelling:
        return Cause("It was asked to stop, and has a few seconds to save a checkpoint.")
    if run.state == "INIT":
        return _waiting(run)
    if run.state == "PAUSED":
        return Cause("Its processes are stopped and keep their memory.", "Unpause continues them.")
    if run.state == "FAULTED":
        return Cause(
            run.reason or "Contact with its worker was lost.",
            "Resume continues from its last checkpoint. Logs, stream 'worker', may say more.",
        )
    if run.outcome == "failed":
        return Cause(_failure(run), _advice(run, last_lines))
    if run.outcome == "cancelled":
        return Cause(
            run.reason or "It was cancelled.", "Resume continues from its last checkpoint."
        )
    return Cause(run.reason if not has_ended(run) else "")


def _waiting(run: pb.Run) -> Cause:
    place = f"It is number {run.queue_position} in the queue" if run.queue_position else "It waits"
    why = f"{place}: {run.reason}." if run.reason else f"{place}."
    if "secret" in run.reason:
        return Cause(why, "Cancel it, and submit it again with its key.")
    return Cause(why, "System shows what is reserved, and by whom.")


def _failure(run: pb.Run) -> str:
    how = _exit(run)
    return f"{run.reason} ({how})" if run.reason and how else run.reason or how or "It failed."


def _exit(run: pb.Run) -> str:
    if run.HasField("signal"):
        try:
            return f"signal {run.signal}, {signal.Signals(run.signal).name}"
        except ValueError:
            return f"signal {run.signal}"
    return f"exit code {run.exit_code}" if run.HasField("exit_code") else ""


def _advice(run: pb.Run, last_lines: Sequence[str]) -> str:
    said = " ".join(last_lines)
    if signal.SIGKILL in (run.signal, run.exit_code - _BY_SIGNAL):
        return (
            "The system kills what takes too much memory: fewer environments, a smaller replay "
            "buffer, or more memory reserved. Resume continues from its last checkpoint."
        )
    if "cuda" in said.lower() and "out of memory" in said.lower():
        return "The GPU's memory is full: smaller batches, or another run that waits meanwhile."
    if "No space left" in said:
        return "The disk is full: empty the bin or delete old runs, then resume."
    if run.HasField("exit_code"):
        return _ADVICE.get(run.exit_code, _LOOK)
    return _LOOK


# A process that a signal ended gives this and the signal's number as its exit code.
_BY_SIGNAL = 128
_LOOK = "The last lines below, and the Logs tab, say where. Resume continues from a checkpoint."
_ADVICE = {
    EXIT_CONFIG: "A setting is wrong: clone the run and correct what the line names.",
    EXIT_DEPENDENCY: "Install the extra that the line names, then clone the run.",
    EXIT_TERMINATED: "Somebody ended it from outside. Resume continues from its last checkpoint.",
}
