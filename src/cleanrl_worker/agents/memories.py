"""What a transformer remembers of an episode: its own hidden states, in a window that slides."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Shape(NamedTuple):
    """The size of a transformer: `memory_length` steps are seen, of at most `longest_episode`."""

    layers: int
    heads: int
    dim: int
    memory_length: int
    longest_episode: int
    positions: str


class Recalled(NamedTuple):
    """What came before each observation: hidden states of [row, step, layer, unit].

    `ages` counts the steps of the row's episode so far; states from before it are not looked at.
    """

    states: Tensor
    ages: Tensor


class Memories:
    """Hidden states of a rollout's steps and of those before it: [step, environment, layer, unit].

    Row `length + t` is of step t, so the rows from t on are what it can look back on.
    """

    def __init__(self, shape: Shape, steps: int, num_envs: int, device: torch.device) -> None:
        self.length, self._steps = shape.memory_length, steps
        rows = (self.length + steps, num_envs, shape.layers, shape.dim)
        self._states = torch.zeros(rows, device=device)

    def before(self, t: int, ages: Tensor) -> Recalled:
        """Return what all environments recall in step t."""
        seen = self.reach(ages)
        last = t + self.length
        return Recalled(self._states[last - seen : last].transpose(0, 1), ages)

    def put(self, t: int, hidden: Tensor) -> None:
        self._states[self.length + t] = hidden

    def pick(self, index: Tensor, ages: Tensor, seen: int) -> Recalled:
        """Return what is recalled in some samples, numbered through [step, environment]."""
        num_envs = self._states.shape[1]
        last = (index // num_envs + self.length)[:, None]
        steps = last - torch.arange(seen, 0, -1, device=index.device)
        return Recalled(self._states[steps, (index % num_envs)[:, None]], ages)

    def go_on(self) -> None:
        """Let the next rollout begin where this one ended."""
        self._states[: self.length] = self._states[self._steps :].clone()

    def clear(self) -> None:
        self._states.zero_()

    def reach(self, ages: Tensor) -> int:
        """Return how far back the oldest episode reaches; at least one step, to have a shape."""
        return min(max(int(ages.max()), 1), self.length)
