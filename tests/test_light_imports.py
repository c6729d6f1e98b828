"""Light processes stay light: what they import, and how long that takes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

SOURCE = str(Path(__file__).parents[1] / "src")
HEAVY = ("torch", "jax", "flax", "tensorflow", "gymnasium", "numpy", "pydantic")


def run_python(code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("mosaic", HEAVY),
        ("cleanrl_worker", HEAVY),
        ("cleanrl_worker.cli", (*HEAVY, "grpc")),
        ("cleanrl_worker.run_options", HEAVY),
        ("mosaic.workers.discovery", HEAVY),
        ("mosaic.catalog.listing", HEAVY),
        ("mosaic.catalog.survey", HEAVY),
        ("mosaic.cli.envs", (*HEAVY, "grpc", "rich")),
        # What a proxy imports before it starts its worker, and after.
        ("mosaic.workers.proxy.__main__", (*HEAVY, "grpc", "asyncio", "subprocess", "psutil")),
        ("mosaic.workers.proxy.following", HEAVY),
        ("mosaic.trainer.store.store", HEAVY),
        ("mosaic.trainer.daemon", ("torch", "jax", "flax", "tensorflow", "numpy", "gymnasium")),
        ("mosaic.client.connecting", (*HEAVY, "grpc", "asyncio")),
        ("mosaic.client.blocking", HEAVY),
        ("mosaic.cli.ps", (*HEAVY, "grpc", "rich")),
        ("mosaic.cli.train_daemon", (*HEAVY, "grpc", "rich")),
        ("mosaic.cli.main", ("torch", "jax", "flax", "tensorflow", "gymnasium")),
    ],
)
def test_a_light_module_imports_nothing_heavy(module: str, forbidden: tuple[str, ...]) -> None:
    found = run_python(f"import sys, {module}\nprint(*sys.modules)").split()
    assert not [name for name in forbidden if name in found]


def test_importing_mosaic_takes_under_50_ms() -> None:
    def best(code: str) -> float:
        times = []
        for _ in range(5):
            started = time.perf_counter()
            run_python(code)
            times.append(time.perf_counter() - started)
        return min(times)

    assert best("import mosaic") - best("pass") < 0.050
