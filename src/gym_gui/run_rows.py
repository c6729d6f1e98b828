"""A run as a row of a table: texts with their units, made from what the daemon says."""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from gym_gui import formatting
from gym_gui.theme import state_words
from mosaic.contracts.states import is_terminal, read_state
from mosaic.proto import trainer_pb2 as pb

# In a table what most runs do goes without saying.
_MODES = {"resume_training": "resumed", "policy_eval": "evaluation", "script": "script"}

_EXPORTED = (
    *("run_id", "name", "state", "outcome", "reason", "worker", "algo", "env_id", "seed", "mode"),
    *("step", "total_timesteps", "last_return", "steps_per_second", "created_at", "started_at"),
    *("ended_at", "parent_run_id"),
)

# The name of a run that nobody named: algorithm, environment and a ULID.
_MADE_UP = re.compile(r".*-[0-9A-HJKMNP-TV-Z]{26}")


def has_ended(run: pb.Run) -> bool:
    return is_terminal(read_state(run.state))


def title(run: pb.Run) -> str:
    """Return what a run does, in the words people use for it."""
    return f"{run.algo} on {run.env_id}" if run.algo else run.name or run.run_id


def name(run: pb.Run) -> str:
    """Return the name that somebody gave the run; one that was made up says less than the id."""
    is_made_up = _MADE_UP.fullmatch(run.name) is not None
    return run.run_id if is_made_up or not run.name else run.name


def share(run: pb.Run) -> float | None:
    """Return how much of its steps a run has done; None where it has no end."""
    if not run.total_timesteps:
        return None
    return min(1.0, run.step / run.total_timesteps)


def steps(run: pb.Run) -> str:
    done = formatting.count(run.step)
    total = f" of {formatting.count(run.total_timesteps)}" if run.total_timesteps else ""
    return f"{done}{total} steps"


def _fraction(run: pb.Run) -> str:
    total = f" / {formatting.count(run.total_timesteps)}" if run.total_timesteps else ""
    return f"{formatting.count(run.step)}{total}"


def speed(run: pb.Run) -> str:
    if not run.HasField("steps_per_second"):
        return "–"
    return f"{formatting.count(run.steps_per_second)} steps/s"


def time_left(run: pb.Run) -> float | None:
    """Return the seconds that are left at the present speed, of a run that is under way."""
    if run.state != "EXECUTING" or not run.total_timesteps or not run.steps_per_second:
        return None
    return max(0, run.total_timesteps - run.step) / run.steps_per_second


def elapsed(run: pb.Run, now: float | None = None) -> float | None:
    if not run.HasField("started_at"):
        return None
    until = run.ended_at if run.HasField("ended_at") else (time.time() if now is None else now)
    return max(0.0, until - run.started_at)


def state_word(run: pb.Run) -> str:
    if run.HasField("deleted_at"):
        return "in the bin"
    if run.is_cancelling and not has_ended(run):
        return "stopping"
    return state_words(run.state, run.outcome)[0]


def row(run: pb.Run, best: float | None = None) -> dict[str, Any]:
    """Return the cells of a run. All are text or numbers: the table shows them as they are."""
    _, icon, light, dark = state_words(run.state, run.outcome)
    part = share(run)
    return {
        "id": run.run_id,
        "href": f"/runs/{run.run_id}",
        "state": state_word(run),
        "icon": icon,
        "colours": f"--light: {light}; --dark: {dark}",
        "reason": run.reason,
        "name": name(run),
        "mode": _MODES.get(run.mode, ""),
        "worker": run.worker or "–",
        "algo": run.algo or "–",
        "env": run.env_id or "–",
        "seed": str(run.seed) if run.HasField("seed") else "random",
        "progress": -1.0 if part is None else part,
        "steps": _fraction(run),
        "returns": _returns(run, best),
        "speed": formatting.count(run.steps_per_second or None),
        "started": formatting.age(run.created_at),
        "started_at": _date(run.created_at),
        "duration": formatting.duration(elapsed(run)),
        "revision": run.revision,
    }


def as_table(runs: Iterable[pb.Run]) -> str:
    """Return the figures of runs as CSV, one run a line, with the names that `mosaic ps` has."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_EXPORTED)
    for run in runs:
        told = {field.name: value for field, value in run.ListFields()}
        writer.writerow([plain_cell(told.get(name, "")) for name in _EXPORTED])
    return text.getvalue()


def plain_cell(value: Any) -> Any:
    """Return a value that no spreadsheet takes for a formula."""
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else value


def _returns(run: pb.Run, best: float | None) -> str:
    if not run.HasField("last_return"):
        return "–"
    last = formatting.number(run.last_return)
    return last if best is None else f"{last} ({formatting.number(best)})"


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")
