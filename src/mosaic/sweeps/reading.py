"""A study's file, read as it is: no Optuna, no writing, whatever version made it.

CleanRL's tuner leaves such files as well, and a run that was imported may hold one that was made to
be slow: a view can be as long as its author likes.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mosaic.contracts.errors import ConfigError, StorageError

_WAIT_S = 5.0
_READING_S = 10.0  # ten thousand trials with ten reports each took 0.25 s
_LOOK_STEPS = 10_000  # of SQLite's machine, between two looks at the clock
_VALUE_BYTES = 16 << 20


@dataclass(slots=True)
class Trial:
    number: int
    state: str  # COMPLETE, PRUNED, FAIL, RUNNING, WAITING
    params: dict[str, Any] = field(default_factory=dict)
    value: float | None = None
    reports: dict[int, float] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def run_ids(self) -> list[str]:
        found = self.attributes.get("run_ids")
        return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []

    @property
    def last_value(self) -> float | None:
        """Return the value, or what was last reported of a trial that has none."""
        if self.value is not None:
            return self.value
        return self.reports[max(self.reports)] if self.reports else None


@dataclass(slots=True)
class Study:
    name: str
    is_maximised: bool
    trials: list[Trial]

    def ranked(self) -> list[Trial]:
        """Return the trials, best first: complete ones, then the others by what they reported."""
        sign = -1.0 if self.is_maximised else 1.0

        def key(trial: Trial) -> tuple[bool, bool, float, int]:
            value = trial.last_value
            has_none = value is None or math.isnan(value)
            score = 0.0 if value is None or has_none else sign * value
            return trial.state != "COMPLETE", has_none, score, trial.number

        return sorted(self.trials, key=key)

    @property
    def best(self) -> Trial | None:
        found = [trial for trial in self.ranked() if trial.state == "COMPLETE"]
        return found[0] if found and found[0].value is not None else None

    def count(self, *states: str) -> int:
        return sum(trial.state in states for trial in self.trials)


def read_study(path: Path) -> Study:
    """Read the newest study of a file. Blocks for a moment where it is being written."""
    if not os.path.isfile(path):  # false, too, for a name longer than any file's
        raise ConfigError(f"The study {str(path)!r} does not exist.")
    try:
        with _opened(path) as connection:
            return _read(connection, path)
    except sqlite3.OperationalError as error:
        raise StorageError(f"The study {str(path)!r} cannot be read: {error}.") from None
    except sqlite3.DatabaseError as error:
        raise ConfigError(f"{str(path)!r} is no file of Optuna's: {error}.") from None


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    connection = sqlite3.connect(address, uri=True, timeout=_WAIT_S)
    deadline = time.monotonic() + _READING_S
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _VALUE_BYTES)
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _LOOK_STEPS)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")
        yield connection
    finally:
        connection.close()


def _read(connection: sqlite3.Connection, path: Path) -> Study:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not {"studies", "trials", "trial_params", "trial_values"} <= tables:
        raise ConfigError(f"{str(path)!r} is no file of Optuna's: it holds no study.")
    study = connection.execute(
        "SELECT study_id, study_name FROM studies ORDER BY study_id DESC LIMIT 1"
    ).fetchone()
    if study is None:
        raise ConfigError(f"{str(path)!r} holds no study yet.")
    study_id, name = study
    rows = connection.execute(
        "SELECT trial_id, number, state FROM trials WHERE study_id = ? ORDER BY trial_id",
        (study_id,),
    ).fetchall()
    trials = {key: Trial(number, str(state)) for key, number, state in rows}
    for place, trial in enumerate(trials.values()):
        trial.number = place if trial.number is None else trial.number
    _read_params(connection, trials)
    _read_values(connection, trials)
    _read_attributes(connection, trials)
    return Study(name, _is_maximised(connection, study_id), list(trials.values()))


def _is_maximised(connection: sqlite3.Connection, study_id: int) -> bool:
    row = connection.execute(
        "SELECT direction FROM study_directions WHERE study_id = ? LIMIT 1", (study_id,)
    ).fetchone()
    return row is not None and row[0] == "MAXIMIZE"


def _read_params(connection: sqlite3.Connection, trials: dict[int, Trial]) -> None:
    rows = connection.execute(
        "SELECT trial_id, param_name, param_value, distribution_json FROM trial_params"
    )
    for key, name, value, text in rows:
        if key in trials:
            trials[key].params[name] = _param(value, text)


def _param(value: float, text: str) -> Any:
    """Return a value as it was tried: Optuna stores the place of a choice, and whole as 4.0."""
    try:
        distribution = json.loads(text)
        kind, about = distribution["name"], distribution["attributes"]
        if kind == "CategoricalDistribution":
            return about["choices"][int(value)]
    except (ValueError, KeyError, TypeError, IndexError):
        return value
    return int(value) if kind.startswith("Int") else value


def _read_values(connection: sqlite3.Connection, trials: dict[int, Trial]) -> None:
    for key, value in connection.execute("SELECT trial_id, value FROM trial_values ORDER BY 1"):
        if key in trials and trials[key].value is None:
            trials[key].value = value
    reports = connection.execute(
        "SELECT trial_id, step, intermediate_value FROM trial_intermediate_values ORDER BY step"
    )
    for key, step, value in reports:
        if key in trials:
            trials[key].reports[step] = math.nan if value is None else value


def _read_attributes(connection: sqlite3.Connection, trials: dict[int, Trial]) -> None:
    rows = connection.execute("SELECT trial_id, key, value_json FROM trial_user_attributes")
    for key, name, text in rows:
        if key in trials:
            with contextlib.suppress(ValueError):
                trials[key].attributes[name] = json.loads(text)
