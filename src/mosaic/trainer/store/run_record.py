"""A run as the store keeps it, and its way into a row and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from mosaic.contracts.states import Outcome, RunState, is_terminal, read_state
from mosaic.trainer.store.text import storable


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Times are unix seconds; `config` is the run config with its secrets removed."""

    run_id: str
    name: str
    state: RunState
    created_at: float
    outcome: Outcome | None = None
    reason: str = ""
    algo: str = ""
    env_id: str = ""
    seed: int | None = None
    worker_id: str = ""
    worker: str = ""
    mode: str = "train"
    step: int = 0
    total_timesteps: int | None = None
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    signal: int | None = None
    parent_run_id: str | None = None
    last_return: float | None = None
    steps_per_second: float | None = None
    deleted_at: float | None = None
    is_archived: bool = False
    cancel_requested_at: float | None = None
    cancel_reason: str = ""
    paused_s: float = 0.0
    config: dict[str, Any] = field(default_factory=dict)
    reserved: dict[str, Any] | None = None
    garbage_lines: int = 0
    last_lines: tuple[str, ...] = ()
    idempotency_key: str | None = None
    secret_names: tuple[str, ...] = ()
    auto_resumed_by: str | None = None
    revision: int = 1

    @property
    def is_ended(self) -> bool:
        return is_terminal(self.state)


FIELDS = tuple(each.name for each in fields(RunRecord))
# Fields of the table run_details; the others are of the table runs.
DETAILS = ("config", "last_lines")
WHOLE = f"SELECT {', '.join(FIELDS)} FROM runs JOIN run_details USING (run_id)"
# With the details of a run that has none.
BRIEF = "SELECT {} FROM runs".format(
    ", ".join({"config": "'{}'", "last_lines": "'[]'"}.get(name, name) for name in FIELDS)
)


def _write_json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, separators=(",", ":"))


def _read_json(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _read_tuple(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


# How a field is read from its column, and written to it, where the two differ.
_READ: dict[str, Callable[[Any], Any]] = {
    "state": read_state,
    "outcome": lambda text: None if text is None else Outcome(text),
    "is_archived": bool,
    "config": _read_json,
    "reserved": _read_json,
    "last_lines": _read_tuple,
    "secret_names": _read_tuple,
}
_WRITE: dict[str, Callable[[Any], Any]] = {
    "state": str,
    "config": _write_json,
    "reserved": _write_json,
    "last_lines": _write_json,
    "secret_names": _write_json,
}
_CONVERTED = tuple((FIELDS.index(name), read) for name, read in _READ.items())


def read_row(row: Sequence[Any]) -> RunRecord:
    """Return the record of a row of WHOLE or BRIEF."""
    values = list(row)
    for index, read in _CONVERTED:
        values[index] = read(values[index])
    return RunRecord(*values)


def write_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields of a record as their columns hold them."""
    return {name: _write(name, value) for name, value in values.items()}


def _write(name: str, value: Any) -> Any:
    if name in _WRITE:
        return _WRITE[name](value)
    return storable(value) if isinstance(value, str) else value
