"""CartPole that counts its steps where another process can read them."""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

# A directory: each process has a file of its own in it, named after the process.
VARIABLE = "MOSAIC_BENCH_COUNTS"

_count = struct.Struct("<q")


class CountingEnv(CartPoleEnv):
    _shared: mmap.mmap | None = None
    _steps = 0

    def step(self, action: Any) -> Any:
        cls = type(self)
        if cls._shared is None:
            cls._shared = _open(Path(os.environ[VARIABLE]) / str(os.getpid()))
        cls._steps += 1
        _count.pack_into(cls._shared, 0, cls._steps)
        return super().step(action)


def _open(path: Path) -> mmap.mmap:
    path.write_bytes(bytes(_count.size))
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), _count.size)


gym.register("Counting-v0", CountingEnv, max_episode_steps=500)
