"""Freed memory is kept for the next array of its size, instead of handed back to the system.

A CPU's pass over a minibatch of pictures makes and drops arrays of hundreds of megabytes. glibc
maps each anew, and the kernel clears it page by page: a tenth of the time of PPO on Procgen.
"""

from __future__ import annotations

import ctypes
import os
import sys

# The parameters of mallopt(3).
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_NEVER = -1
_GROW_BY = 64 << 20
# Larger ones stay mapped: a replay buffer takes memory only as it fills. Before 2.35, glibc knows
# no threshold above the second.
_KEPT_UP_TO = (1 << 30, 32 << 20)


def keep_freed_memory() -> bool:
    """Tell the allocator, and return whether it will; what the user told it by variables stands."""
    if sys.platform != "linux" or any(
        name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ
    ):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other libraries of C have none
    if mallopt is None or not any(mallopt(_MMAP_THRESHOLD, size) for size in _KEPT_UP_TO):
        return False
    return bool(mallopt(_TRIM_THRESHOLD, _NEVER) and mallopt(_TOP_PAD, _GROW_BY))
