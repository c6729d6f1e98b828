"""The random states that a run depends on, as one piece of training state."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

MAX_SEED = 2**31


class RandomState:
    """The run's own generator, and the global ones that libraries and environments draw from."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def state_dict(self) -> dict[str, Any]:
        state: dict[str, Any] = {
            "run": self._rng.bit_generator.state,
            "torch": torch.get_rng_state(),
            "numpy": np.random.get_state(legacy=False),
            "python": random.getstate(),
        }
        if torch.cuda.is_available():
            state["cuda"] = torch.cuda.get_rng_state_all()
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._rng.bit_generator.state = state["run"]
        torch.set_rng_state(state["torch"])
        np.random.set_state(state["numpy"])
        random.setstate(state["python"])
        if "cuda" in state and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(state["cuda"])


def cut_seed(seed: int, step: int) -> int:
    """Return the seed of the environments that are built anew at a step; the run's own at first."""
    if step == 0:
        return seed
    return int(np.random.SeedSequence((seed, step)).generate_state(1)[0]) % MAX_SEED


def rank_generator(seed: int, rank: int) -> np.random.Generator:
    """Return the generator that a process of a run draws with; rank 0's is that of a lone one."""
    return np.random.default_rng(seed if rank == 0 else (seed, rank))
