"""Memory that was freed serves the next array of its size."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator is Linux's")

PAGES = 16_384  # of 64 MiB
PROGRAM = f"""
import resource
import numpy as np
from cleanrl_worker.memory import keep_freed_memory

print(keep_freed_memory())
for _ in range(2):  # what was freed serves from the second time on
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones({PAGES} << 12, np.uint8)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def run(**variables: str) -> tuple[str, int, int]:
    """Return whether memory is kept, and the pages that the first and the second array took."""
    untold = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("MALLOC_") and name != "GLIBC_TUNABLES"
    }
    huge_pages = {"NUMPY_MADVISE_HUGEPAGE": "0"}  # which are counted otherwise
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=untold | huge_pages | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    kept, first, second = done.stdout.split()
    return kept, int(first), int(second)


def test_an_array_takes_no_new_pages_where_one_like_it_was_freed() -> None:
    kept, first, second = run()

    assert kept == "True"
    assert first > PAGES / 2
    assert second < PAGES / 100


@pytest.mark.parametrize("name", ["MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"])
def test_what_the_user_told_the_allocator_stands(name: str) -> None:
    value = "glibc.malloc.trim_threshold=131072" if name == "GLIBC_TUNABLES" else "131072"

    kept, first, second = run(**{name: value})

    assert kept == "False"
    assert min(first, second) > PAGES / 2
