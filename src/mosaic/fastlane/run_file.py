"""The file that says what goes on in a run's lanes, and who looks at them.

words     magic, pid of the owner, its start, number of the notice that holds
notices   two places: the one that holds, and the one where the next is written
accounts  what rendering reached and cost, one place a process that renders
viewers   a token, pid, last sign of life and wanted budget each
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from mosaic.fastlane.mapped_file import (
    PAGE_BYTES,
    Identity,
    MappedFile,
    create_file,
    identify,
    open_file,
)
from mosaic.fastlane.status import LIMITS, MAX_LANES, MODES, STATUSES, Account, Notice
from mosaic.fastlane.viewers import ViewerTable
from mosaic.workers.process_table import read_row

TEXT_BYTES = 200

_MAGIC = int.from_bytes(b"MOSARUN1", "little")
_MAGIC_WORD, _PID_WORD, _START_WORD, _NOTICE_WORD = 0, 1, 2, 3
# status, mode, slot, lanes, is_evaluation, budget, view_budget, reason, evaluation
_NOTICE = struct.Struct(f"=BBIB?dd{TEXT_BYTES}s{TEXT_BYTES}s")
_NOTICE_BYTES = (64, 576)
# limited_by counted from 1 (0: no report), rate, cpu, run cpu
_ACCOUNT = struct.Struct("=Qddd")
_ACCOUNTS_BYTE = 1088
_VIEWERS_BYTE = 2048
_ATTEMPTS = 100


class RunFile:
    """The mapped `run` file; owner, rendering processes and viewers all hold one."""

    def __init__(self, file: MappedFile, path: Path) -> None:
        self._file = file
        self._path = path
        self.viewers = ViewerTable(file.view[_VIEWERS_BYTE:])

    @classmethod
    def create(cls, path: Path, notice: Notice) -> RunFile:
        """Make the file, owned by this process."""
        file = create_file(path, PAGE_BYTES)
        row = read_row(os.getpid())
        file.words[_PID_WORD] = os.getpid()
        file.words[_START_WORD] = 0 if row is None else row.start_ticks
        made = cls(file, path)
        made._write(0, notice)
        file.words[_MAGIC_WORD] = _MAGIC
        return made

    @classmethod
    def open(cls, path: Path) -> RunFile | None:
        """Map the file; None where there is none, or one of another version."""
        file = open_file(path)
        if file is None:
            return None
        if file.words[_MAGIC_WORD] != _MAGIC:
            file.close()
            return None
        return cls(file, path)

    @property
    def identity(self) -> Identity:
        return self._file.identity

    @property
    def owner_pid(self) -> int:
        pid: int = self._file.words[_PID_WORD]
        return pid

    def is_owner_alive(self) -> bool:
        row = read_row(self.owner_pid)
        if row is None or not row.is_alive:
            return False
        return bool(row.start_ticks == self._file.words[_START_WORD])

    def is_in_place(self) -> bool:
        """Say whether the path still leads to this file, and not to a later run's or to none."""
        return identify(self._path) == self.identity

    def close(self) -> None:
        self.viewers.close()
        self._file.close()

    def notice(self) -> Notice:
        """Return the notice that holds; the other place may be half written, this one is not."""
        for _ in range(_ATTEMPTS):
            number = self._file.words[_NOTICE_WORD]
            notice = _unpack(self._file.view, _NOTICE_BYTES[number % 2])
            if self._file.words[_NOTICE_WORD] == number:
                return notice
        return notice

    def change(self, **fields: Any) -> None:
        """Change parts of the notice. Any process of the run may: they take turns."""
        with self._turn():
            number = self._file.words[_NOTICE_WORD]
            self._write(number + 1, replace(self.notice(), **fields))

    def report(self, place: int, account: Account) -> None:
        """Store the account of the process that has this place, and writes it alone."""
        assert 0 <= place < MAX_LANES
        rate, limit, cpu, run_cpu = account
        at = _ACCOUNTS_BYTE + place * _ACCOUNT.size
        _ACCOUNT.pack_into(self._file.view, at, LIMITS.index(limit) + 1, rate, cpu, run_cpu)

    def account(self) -> Account:
        """Return the sum of all accounts; the slowest lane says the rate and what limits it."""
        found = [account for place in range(MAX_LANES) if (account := self._account(place))]
        if not found:
            return Account()
        slowest = min(found, key=lambda account: account.rate_hz)
        return Account(
            slowest.rate_hz,
            slowest.limited_by,
            sum(account.cpu_s for account in found),
            sum(account.run_cpu_s for account in found),
        )

    def _account(self, place: int) -> Account | None:
        at = _ACCOUNTS_BYTE + place * _ACCOUNT.size
        limit, rate, cpu, run_cpu = _ACCOUNT.unpack_from(self._file.view, at)
        return None if limit == 0 else Account(rate, LIMITS[limit - 1], cpu, run_cpu)

    def _write(self, number: int, notice: Notice) -> None:
        _pack(self._file.view, _NOTICE_BYTES[number % 2], notice)
        self._file.words[_NOTICE_WORD] = number

    @contextmanager
    def _turn(self) -> Iterator[None]:
        try:
            descriptor = os.open(self._path, os.O_RDWR)
        except FileNotFoundError:  # the lanes are gone: nobody is left to take turns with
            yield
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _pack(view: memoryview, at: int, notice: Notice) -> None:
    _NOTICE.pack_into(
        view,
        at,
        STATUSES.index(notice.status),
        MODES.index(notice.mode),
        notice.slot,
        notice.lanes,
        notice.is_evaluation,
        notice.budget,
        notice.view_budget,
        notice.reason.encode(),
        notice.evaluation.encode(),
    )


def _unpack(view: memoryview, at: int) -> Notice:
    status, mode, slot, lanes, is_evaluation, budget, view_budget, reason, evaluation = (
        _NOTICE.unpack_from(view, at)
    )
    return Notice(
        status=STATUSES[status],
        reason=_text(reason),
        mode=MODES[mode],
        slot=slot,
        lanes=lanes,
        is_evaluation=is_evaluation,
        evaluation=_text(evaluation),
        budget=budget,
        view_budget=view_budget,
    )


def _text(stored: bytes) -> str:
    """Return a text that may have been cut in the middle of a letter."""
    return stored.rstrip(b"\0").decode(errors="ignore")
