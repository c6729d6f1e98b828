"""Lanes of the tests' own, away from those of real runs."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mosaic.fastlane.directory import DIRECTORY_VARIABLE, lanes_root
from mosaic.fastlane.lane_set import LaneSet

MakeLanes = Callable[..., LaneSet]


@pytest.fixture
def lanes_parent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Keep lanes in a place of their own, in memory, for this process and those it starts."""
    monkeypatch.delenv(DIRECTORY_VARIABLE, raising=False)
    with tempfile.TemporaryDirectory(dir=lanes_root().parent, prefix="lanes-") as name:
        monkeypatch.setenv(DIRECTORY_VARIABLE, name)
        yield Path(name)
        assert os.listdir(name) == [], "something was left behind"


@pytest.fixture
def make_lanes(lanes_parent: Path) -> Iterator[MakeLanes]:
    """Make the lanes of a run, which end with the test."""
    numbers = itertools.count(1)
    made: list[LaneSet] = []

    def make(run_id: str | None = None, *, lanes: int = 1, **options: object) -> LaneSet:
        name = run_id or f"run-{next(numbers)}"
        mode = "single" if lanes == 1 else "grid"
        made.append(LaneSet.create(name, mode=mode, lanes=lanes, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.remove()
