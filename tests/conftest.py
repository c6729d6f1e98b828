"""Fixtures and markers that every test may use."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.system_packages import SYSTEM_PACKAGES, missing_message

# Compiling is most of what a JAX test does: it is done once for all of them, and without finesse.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "jax")
)
HASTY_JAX = "JAX_DISABLE_MOST_OPTIMIZATIONS"
os.environ.setdefault(HASTY_JAX, "1")

# A shell without job control starts what it puts in the background deaf to Ctrl-C, which every
# process under test would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Set in CI, where the packages are installed first: there a skip would hide a test.
REQUIRE_SYSTEM = "MOSAIC_REQUIRE_SYSTEM"


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs_system"):
        for name in marker.args:
            if name not in SYSTEM_PACKAGES:
                known = ", ".join(sorted(SYSTEM_PACKAGES))
                pytest.fail(f"needs_system({name!r}) is not one of: {known}", pytrace=False)
            message = missing_message(name)
            if message and os.environ.get(REQUIRE_SYSTEM) == "1":
                pytest.fail(message, pytrace=False)
            if message:
                pytest.skip(message)


@pytest.fixture
def var_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test a var directory of its own, for this process and those it starts."""
    directory = tmp_path / "var"
    directory.mkdir()
    monkeypatch.setenv("MOSAIC_VAR_DIR", str(directory))
    return directory
