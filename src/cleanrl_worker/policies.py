"""What evaluation and interactive play know of a trained agent."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from cleanrl_worker.envs.observations import Array


class Policy(Protocol):
    """Chooses actions for a batch of observations; greedily where no generator is given."""

    def __call__(self, obs: Array, rng: np.random.Generator | None) -> Array: ...


@runtime_checkable
class Remembering(Protocol):
    """A policy that acts on what it has seen of an episode, not on the last observation alone."""

    def forget(self) -> None: ...


def remembers(policy: Policy) -> bool:
    return isinstance(policy, Remembering)


def begin_episode(policy: Policy) -> None:
    """Tell a policy that what it sees next begins an episode. Whoever plays one calls this first.

    The rows of a batch begin together; the first call of a policy begins one anyway.
    """
    if isinstance(policy, Remembering):
        policy.forget()
