"""The ticker worker, installed for the tests of the daemon and for what they start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.trainer.daemons import SITE, Daemon, running


@pytest.fixture
def ticker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SITE))
    before = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(SITE), before])))


@pytest.fixture
def daemon(ticker: None, tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path / "var") as served:
        yield served
