"""The lanes of a run, as the run itself holds them."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
from pathlib import Path

from mosaic.contracts.errors import ConfigError, StorageError, suggest
from mosaic.contracts.identifiers import check_run_id
from mosaic.fastlane.directory import (
    make_lanes_root,
    remove_lanes,
    run_directory,
    run_path,
)
from mosaic.fastlane.run_file import RunFile
from mosaic.fastlane.status import (
    LIMITS,
    MAX_LANES,
    MODES,
    STATUSES,
    Account,
    Notice,
    ViewerInfo,
)
from mosaic.fastlane.sweep import sweep


class LaneSet:
    """The directory of a run's lanes and its `run` file.

    The process that creates it owns it: the directory goes when that process exits. Other processes
    of the run join it. All of them may say how things stand; frames are written by LaneWriter.
    """

    def __init__(self, directory: Path, file: RunFile) -> None:
        self.directory = directory
        self._file = file
        notice = file.notice()
        self._budgets = notice.budget, notice.view_budget

    @classmethod
    def create(
        cls,
        run_id: str,
        *,
        mode: str,
        lanes: int,
        slot: int = 0,
        budget: float = 0.02,
        view_budget: float = 0.05,
        is_evaluation: bool = False,
    ) -> LaneSet:
        """Make the lanes of a run, in the place of what an earlier process of it left."""
        check_run_id(run_id)
        _check_word("mode", mode, MODES)
        if not 1 <= lanes <= MAX_LANES:
            raise ConfigError(f"lanes={lanes} is not allowed: give 1 to {MAX_LANES}.")
        notice = Notice(
            mode=mode,
            slot=slot,
            lanes=lanes,
            is_evaluation=is_evaluation,
            budget=budget,
            view_budget=view_budget,
        )
        # What killed runs left goes when the next one starts, where no daemon sweeps.
        sweep(lambda _: False)
        made = cls(*_make(run_id, notice))
        atexit.register(made.remove)
        return made

    @classmethod
    def join(cls, directory: Path) -> LaneSet:
        """Open the lanes in another process of the run."""
        file = RunFile.open(run_path(directory))
        if file is None:
            raise StorageError(f"{directory} holds no lanes: the run that made them has ended.")
        return cls(directory, file)

    def set_status(self, status: str, reason: str = "") -> None:
        """Say how things stand, and why; of the reason the first 200 bytes are kept."""
        _check_word("status", status, STATUSES)
        self._file.change(status=status, reason=" ".join(reason.split()))

    def set_evaluation(self, text: str) -> None:
        """Show this line (`hud.evaluation`) while the run evaluates."""
        self._file.change(is_evaluation=True, evaluation=text)

    def viewers(self) -> ViewerInfo:
        """Return who looks on now, and the share of the run's time that frames may take."""
        return self._file.viewers.info(*self._budgets)

    def report(
        self, rate_hz: float, limited_by: str, cpu_s: float, run_cpu_s: float, *, place: int = 0
    ) -> None:
        """Say what rendering reached and cost in this process.

        Each process that renders has a place of its own, the lowest of its lanes.
        """
        _check_word("limited_by", limited_by, LIMITS)
        self._file.report(place, Account(rate_hz, limited_by, cpu_s, run_cpu_s))

    def close(self) -> None:
        """Say that the run has ended. The last frames stay readable until the owner exits."""
        self._file.change(status="ended", reason="")

    def remove(self) -> None:
        """Take the lanes away, unless another process has made them anew. The owner's exit does."""
        # A fork of the owner leaves through here as well.
        if self._file.owner_pid == os.getpid():
            self.close()
            if self._file.is_in_place():
                remove_lanes(self.directory)


def _make(run_id: str, notice: Notice) -> tuple[Path, RunFile]:
    """Make the directory aside, whole, and put it in its place."""
    directory = run_directory(run_id)
    try:
        aside = _make_aside(run_id)
        RunFile.create(run_path(aside), notice).close()
        if directory.exists():
            old = aside.with_name(f".old-{os.getpid()}-{run_id}")
            directory.rename(old)
            shutil.rmtree(old)
        aside.rename(directory)
    except OSError as error:
        raise StorageError(f"{directory} cannot hold live frames: {error.strerror}.") from error
    file = RunFile.open(run_path(directory))
    assert file is not None
    return directory, file


def _make_aside(run_id: str) -> Path:
    while True:
        aside = make_lanes_root() / f".new-{os.getpid()}-{run_id}"
        shutil.rmtree(aside, ignore_errors=True)
        # The last run to end may have taken the empty root away in between.
        with contextlib.suppress(FileNotFoundError):
            aside.mkdir(mode=0o700)
            return aside


def _check_word(name: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        raise ConfigError(
            f"{name}={word!r} is not one of {', '.join(known)}.{suggest(word, known)}"
        )
