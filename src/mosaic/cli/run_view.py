"""A run as programs read it, and as a row of a table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mosaic.cli.columns import Column
from mosaic.cli.formatting import format_age, format_count, format_score
from mosaic.contracts.states import RunState, is_terminal, read_state

if TYPE_CHECKING:
    from mosaic.proto.trainer_pb2 import Run

SHORTEST_ID = 10  # the part of a ULID that is its time: runs of two milliseconds differ in it

# The first twelve are the contract's; an optional one that is not set is null.
_KEYS = (
    *("run_id", "name", "state", "outcome", "reason", "algo", "env_id", "seed", "worker_id"),
    *("step", "total_timesteps", "created_at"),
    *("started_at", "ended_at", "mode", "worker", "exit_code", "signal", "parent_run_id"),
    *("last_return", "steps_per_second", "deleted_at", "is_archived", "is_cancelling"),
    *("queue_position", "revision"),
)
_OPTIONAL = frozenset(
    {"seed", "total_timesteps", "started_at", "ended_at", "exit_code", "signal"}
    | {"last_return", "steps_per_second", "deleted_at"}
)
_NULL_WHEN_EMPTY = frozenset({"outcome", "parent_run_id"})

# In a table what most runs do goes without saying.
_MODES = {"train": "-", "": "-", "resume_training": "resume", "policy_eval": "eval"}


def run_json(run: Run) -> dict[str, Any]:
    """Return the object that `--json` prints."""
    document: dict[str, Any] = {}
    for key in _KEYS:
        value = getattr(run, key)
        is_unset = key in _OPTIONAL and not run.HasField(key)
        document[key] = None if is_unset or (key in _NULL_WHEN_EMPTY and not value) else value
    document["state"] = str(read_state(run.state))
    return document


def has_ended(run: Run) -> bool:
    return is_terminal(read_state(run.state))


def state_word(run: Run) -> str:
    """Return the state in one word: the outcome of a run that ended by itself or was cancelled."""
    state = read_state(run.state)
    if run.HasField("deleted_at"):
        return "deleted"
    if run.is_cancelling and not is_terminal(state):
        return "cancelling"
    if state is RunState.INIT and run.queue_position:
        return "queued"
    return run.outcome if state is RunState.TERMINATED and run.outcome else state.lower()


def reason(run: Run) -> str:
    """Return why the run is as it is, where the state does not say it already."""
    is_told = run.reason.rstrip(".").lower() == state_word(run)
    return "" if is_told else run.reason


def label(run: Run) -> str:
    return f"{run.algo} on {run.env_id}"


def steps(run: Run) -> str:
    """Return 39.9k/100k, or the steps alone where there is no budget."""
    if not run.step and not run.total_timesteps:
        return "-"
    done = format_count(run.step)
    return f"{done}/{format_count(run.total_timesteps)}" if run.total_timesteps else done


def run_columns(runs: Sequence[Run], now: float | None = None) -> list[Column[Run]]:
    """Return the columns of a table of these runs, with what is dropped first in a narrow one."""
    at = time.time() if now is None else now
    width = id_width([run.run_id for run in runs])
    return [
        Column("run", lambda run: run.run_id[:width], 0),
        Column("state", state_word, 0),
        Column("algo", lambda run: run.algo, 0),
        Column("env", lambda run: run.env_id, 1),
        Column("mode", lambda run: _MODES.get(run.mode, run.mode), 2),
        Column("seed", lambda run: str(run.seed) if run.HasField("seed") else "-", 4, right=True),
        Column("steps", steps, 1, right=True),
        Column("return", lambda run: _number(run, "last_return"), 2, right=True),
        Column("steps/s", lambda run: _number(run, "steps_per_second"), 6, right=True),
        Column("age", lambda run: format_age(at - run.created_at), 5, right=True),
        Column("reason", reason, 3, can_shrink=True),
    ]


def id_width(ids: Sequence[str]) -> int:
    """Return how many characters tell these ids apart."""
    longest = max(map(len, ids), default=0)
    for width in range(SHORTEST_ID, longest):
        if len({each[:width] for each in ids}) == len(ids):
            return width
    return max(longest, SHORTEST_ID)


def _number(run: Run, name: str) -> str:
    if not run.HasField(name):
        return "-"
    value = getattr(run, name)
    return format_score(value) if name == "last_return" else format_count(value)
