"""Workers are found by their entry points; a broken one does not hide the rest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mosaic.workers.discovery import DiscoveredWorker, discover_workers


def install(site: Path, name: str, entry: str, code: str) -> None:
    """Put a package with one entry point into a directory of the path."""
    (site / f"{name}.py").write_text(code)
    metadata = site / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[mosaic.workers]\n{entry} = {name}:describe\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def find(name: str) -> DiscoveredWorker:
    return {worker.name: worker for worker in discover_workers()}[name]


def test_the_cleanrl_worker_is_found() -> None:
    worker = find("cleanrl")
    assert worker.is_available
    assert worker.capabilities is not None
    assert worker.capabilities.module == "cleanrl_worker.cli"
    assert worker.capabilities.schema.is_file()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import package_that_is_not_there", "ModuleNotFoundError: No module named"),
        ("raise RuntimeError('no GPU')", "RuntimeError: no GPU"),
        ("import sys; sys.exit('licence')", "SystemExit: licence"),
        ("def describe(): return 5", "returned int, not WorkerCapabilities"),
        ("", "AttributeError"),
    ],
)
def test_a_worker_that_fails_is_listed_with_its_reason(
    site: Path, code: str, reason: str, request: pytest.FixtureRequest
) -> None:
    name = f"bad_{abs(hash(request.node.name))}"  # a module is imported once a process
    install(site, name, "bad", code)
    worker = find("bad")
    assert not worker.is_available
    assert worker.reason is not None
    assert reason in worker.reason
    assert find("cleanrl").is_available


def test_the_list_is_sorted_and_goes_into_json(site: Path) -> None:
    install(site, "aaa_worker", "aaa", "def describe(): raise ValueError('x')")
    names = [worker.name for worker in discover_workers()]
    assert names == sorted(names)
    assert find("aaa").to_json() == {
        "name": "aaa",
        "available": False,
        "reason": "ValueError: x",
        "capabilities": None,
    }


def test_discovery_is_light() -> None:
    code = (
        "import sys; from mosaic.workers.discovery import discover_workers; discover_workers();"
        "heavy = {'torch', 'jax', 'gymnasium', 'numpy', 'pydantic'} & set(sys.modules);"
        "sys.exit(', '.join(heavy) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
