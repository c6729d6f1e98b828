"""A store in a data directory of its own, opened and closed around each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.contracts.paths import VarPaths
from mosaic.trainer.store.store import Store


@pytest.fixture
def paths(tmp_path: Path) -> VarPaths:
    return VarPaths(tmp_path / "var")


@pytest.fixture
def store(paths: VarPaths) -> Iterator[Store]:
    store = Store.open(paths)
    yield store
    store.close()
