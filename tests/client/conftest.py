"""A toy daemon for the tests of the client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.toy_daemon import ToyDaemon


@pytest.fixture
def daemon(var_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ToyDaemon]:
    """Serve a toy daemon, which clients find by its address."""
    with ToyDaemon(var_dir) as toy:
        monkeypatch.setenv("MOSAIC_GRPC_TARGET", toy.target)
        yield toy
