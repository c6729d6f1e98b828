"""CartPole that notes when it is stepped for the first time."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

VARIABLE = "MOSAIC_BENCH_FIRST_STEP"


class FirstStepEnv(CartPoleEnv):
    def step(self, action: Any) -> Any:
        if VARIABLE in os.environ:
            Path(os.environ.pop(VARIABLE)).write_text(repr(time.time()))
        return super().step(action)


gym.register("FirstStep-v0", FirstStepEnv, max_episode_steps=500)
