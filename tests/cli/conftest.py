"""A terminal for the tests: `mosaic` as its users call it, with a toy worker installed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.client.toy_daemon import ToyDaemon

SITE = Path(__file__).parent / "site"

Mosaic = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def toy_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the toy worker, for this process and those it starts."""
    monkeypatch.syspath_prepend(str(SITE))
    before = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(SITE), before])))


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Start in an empty directory, where `var` will be made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MOSAIC_VAR_DIR", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def mosaic(toy_worker: None, workplace: Path) -> Mosaic:
    """Run `mosaic` in a process of its own."""

    def call(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "mosaic.cli", *words],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, **environment},
            check=False,
        )

    return call


@pytest.fixture
def daemon(
    toy_worker: None, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ToyDaemon]:
    """Serve a toy daemon, which the commands find by its address."""
    with ToyDaemon(workplace / "var") as toy:
        monkeypatch.setenv("MOSAIC_GRPC_TARGET", toy.target)
        yield toy
