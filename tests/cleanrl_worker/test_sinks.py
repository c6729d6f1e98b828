"""metrics.jsonl on a full disk: nothing is lost while there is memory, and nothing is torn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cleanrl_worker.sinks import MetricFile
from tests.cleanrl_worker.test_replay_crashes import no_room

TAG = "charts/episodic_return"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.jsonl"


@pytest.fixture
def file(path: Path) -> Iterator[MetricFile]:
    file = MetricFile(path, limit_bytes=20_000)
    yield file
    file.close()


def steps_in(path: Path) -> list[int]:
    return [json.loads(line)["step"] for line in path.read_text().splitlines()]


def log(file: MetricFile, steps: range) -> None:
    for step in steps:
        file.scalars(step, {TAG: step})
    file.flush()


def test_lines_wait_for_room_and_are_whole(
    file: MetricFile, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with no_room():
        log(file, range(50))
        log(file, range(50, 100))
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "warning: metrics.jsonl cannot be written: File too large."
    log(file, range(100, 110))
    assert steps_in(path) == list(range(110))


def test_a_disk_that_stays_full_does_not_take_the_memory(file: MetricFile, path: Path) -> None:
    with no_room():
        log(file, range(2_000))
    log(file, range(2_000, 2_010))
    steps = steps_in(path)
    assert steps[-10:] == list(range(2_000, 2_010))
    assert steps[:-10] == list(range(len(steps) - 10)), "the first ones were kept"
    assert path.stat().st_size < 25_000
