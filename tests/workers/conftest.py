"""Runs under a proxy, ended whatever the test did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.workers.proxied import ProxiedRun

MakeRun = Callable[..., ProxiedRun]


@pytest.fixture
def make_run(tmp_path: Path) -> Iterator[MakeRun]:
    runs: list[ProxiedRun] = []

    def make(toy: str, run_id: str | None = None) -> ProxiedRun:
        # Ids differ between tests: a process is known by the id of its run.
        run_id = run_id or f"{tmp_path.name[-40:]}-{len(runs)}".replace("[", "-").replace("]", "")
        runs.append(ProxiedRun(tmp_path / "var", run_id, toy))
        return runs[-1]

    yield make
    for run in runs:
        run.close()
