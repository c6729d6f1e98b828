"""What evaluation and interactive play know of a trained agent."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from cleanrl_worker.envs.observations import Array


class Policy(Protocol):
    """Chooses actions for a batch of observations; greedily where no generator is given."""

    def __call__(self, obs: Array, rng: np.random.Generator | None) -> Array: ...
