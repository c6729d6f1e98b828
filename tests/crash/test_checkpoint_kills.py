"""Checkpoints under kill -9, at moments spread over their writing: whole or absent."""

from __future__ import annotations

import collections
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cleanrl_worker.checkpoint_document import find_checkpoints
from tests.crash import writer


class Writers:
    """Writers of checkpoints, one after the other, each killed at a chosen moment."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        command = [sys.executable, writer.__file__, str(directory)]
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._ask, self._answers = self._server.stdin, self._server.stdout
        self.write_s = 0.0

    def kill_during_the_write(self, share: float) -> int:
        """Kill a writer this far into a checkpoint; return the last step that it had saved."""
        done = [int(path.stem.removeprefix("step-")) for path in find_checkpoints(self.directory)]
        print(max(done, default=0) + 1, file=self._ask, flush=True)
        process = int(self._answers.readline())
        started = time.monotonic()
        self._answers.readline()
        self.write_s = time.monotonic() - started  # as long as the one before, on a busy machine
        time.sleep(share * self.write_s)
        os.kill(process, signal.SIGKILL)
        saved = list(iter(self._answers.readline, "gone\n"))
        return int(saved[-1]) if saved else max(done, default=0) + 1

    def close(self) -> None:
        self._ask.close()
        self._server.wait(30)
        self._answers.close()


@pytest.fixture
def writers(tmp_path: Path) -> Iterator[Writers]:
    writers = Writers(tmp_path / "checkpoints")
    yield writers
    writers.close()


def what_is_left(directory: Path) -> str:
    """Say in which phase the kill found the writer."""
    leftovers = list(directory.glob(".step-*.tmp"))
    if any(path.name.endswith(".removed.tmp") for path in leftovers):
        return "while an old one was removed"
    files = {file.name for path in leftovers for file in path.iterdir()}
    if "checkpoint.json" in files:
        return "after its files were written, before it had its name"
    if files:
        return "while its tensors were written"
    if leftovers:
        return "before its first file"
    kept = len(find_checkpoints(directory))
    return "before the old ones were removed" if kept > writer.KEEP else "between two checkpoints"


def kill_and_check(writers: Writers, kills: int) -> dict[str, int]:
    """Kill that many writers; return how many kills struck in each phase."""
    phases: collections.Counter[str] = collections.Counter()
    newest = 0
    for number in range(kills):
        saved = writers.kill_during_the_write((number + 0.5) / kills)
        phases[what_is_left(writers.directory)] += 1
        steps = [writer.check(path).step for path in find_checkpoints(writers.directory)]
        assert steps[-1] >= saved > newest, "what was saved is there"
        assert len(steps) >= min(writer.KEEP, saved), "and the one before it"
        newest = saved
    return dict(phases)


def test_kills_while_checkpoints_are_written(writers: Writers) -> None:
    assert len(kill_and_check(writers, 20)) > 1, "they struck in several phases"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_hundred_kills_while_checkpoints_are_written(writers: Writers) -> None:
    phases = kill_and_check(writers, 200)
    print()
    for phase, count in sorted(phases.items(), key=lambda item: -item[1]):
        print(f"{count:4} {phase}")
    assert sum(phases.values()) == 200
