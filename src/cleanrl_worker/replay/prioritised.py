"""Prioritised replay (Schaul et al. 2016) of transitions over several steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.vector import Step
from cleanrl_worker.replay.episodes import EpisodeRows, goes_on
from cleanrl_worker.replay.sending import to_tensors
from cleanrl_worker.replay.sum_tree import SumTree
from mosaic.contracts.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Windows:
    """A batch of transitions over as many steps as their episodes and the buffer gave.

    `returns` are the discounted rewards of those steps; `discounts` what a value at `next_obs`
    counts, 0 where the episode terminated; `weights` undo the preference for high priorities.
    """

    obs: Tensor
    actions: Tensor
    returns: Tensor
    next_obs: Tensor
    discounts: Tensor
    weights: Tensor


@dataclass(frozen=True, slots=True)
class Span:
    """What the windows that begin at some rows add up to; `lasts` are their last rows."""

    lasts: Array
    returns: Array
    discounts: Array


def add_up(store: EpisodeRows, rows: Array, n_step: int, gamma: float) -> Span:
    """Follow each row for n steps, or as far as its episode goes on and is held.

    A window ends with a termination, which nothing follows, and before anything that does not go on
    from it: a truncation, a cut, another episode. There it is shorter and bootstrapped all the
    same. Rows whose next observation was not stored, as the last ones before a truncation among
    pictures, end a window before themselves.
    """
    columns, capacity = store.columns, store.capacity
    lasts = rows.copy()
    returns = columns["rewards"][rows % capacity].astype(np.float64)
    discounts = np.full(len(rows), gamma)
    is_open = np.ones(len(rows), np.bool_)
    for _ in range(n_step - 1):
        following = lasts + store.num_envs
        is_open &= goes_on(store, lasts)
        is_open &= store.has_next(following)
        returns += np.where(is_open, discounts * columns["rewards"][following % capacity], 0.0)
        discounts = np.where(is_open, gamma * discounts, discounts)
        lasts = np.where(is_open, following, lasts)
    discounts *= columns["ends"][lasts % capacity] == 0
    return Span(lasts, returns.astype(np.float32), discounts.astype(np.float32))


class PrioritisedReplay:
    """Draws rows of a store in proportion to their priorities to the power alpha.

    A row can be drawn once n steps followed it, with the highest weight that any row had, until
    the rows that its observation is made of begin to be overwritten. All others weigh nothing.
    The weights are state of the run like a network's, and no column of the store: those are final
    once written, and a priority changes with every update.
    """

    def __init__(
        self, store: EpisodeRows, *, n_step: int, gamma: float, alpha: float, eps: float
    ) -> None:
        self.store = store
        self._n_step, self._gamma = n_step, gamma
        self._alpha, self._eps = alpha, eps
        self._tree = SumTree(store.capacity)
        self._highest = 1.0
        self._is_loaded = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw: no window is complete yet."""
        return self._tree.total == 0

    def add(self, obs: Array, actions: Array, step: Step) -> None:
        """Add one transition of every environment; `obs` is what the last step returned."""
        if self._is_loaded:
            self._drop_misfits()
        first, stop = self._drawable()
        self.store.add(obs, actions, step)
        leaving = np.arange(first, self._drawable()[0])
        coming = np.arange(stop, self._drawable()[1])
        weights = np.where(self._fits(coming), self._highest, 0.0)
        rows = np.concatenate((leaving, coming)) % self.store.capacity
        self._tree.set(rows, np.concatenate((np.zeros(len(leaving)), weights)))

    def sample(
        self, rng: np.random.Generator, size: int, beta: float, device: torch.device
    ) -> tuple[Windows, Array]:
        """Draw windows, and return them with the places to which `rate` gives new priorities."""
        places = self._tree.draw(rng, size)
        store, capacity = self.store, self.store.capacity
        newest = store.total - 1
        rows = newest - (newest - places) % capacity
        span = add_up(store, rows, self._n_step, self._gamma)
        drawn = self._tree.weights[places]
        # P(i) is in proportion to the weight; the largest of the corrections is scaled to 1.
        arrays = {
            "obs": store.observations(rows),
            "actions": store.columns["actions"][places],
            "returns": span.returns,
            "next_obs": store.next_observations(span.lasts),
            "discounts": span.discounts,
            "weights": ((drawn / drawn.min()) ** -beta).astype(np.float32),
        }
        return Windows(**to_tensors(arrays, device)), places

    def rate(self, places: Array, errors: Tensor) -> None:
        """Set the priorities of drawn windows to their errors."""
        priorities = errors.detach().cpu().numpy().astype(np.float64) + self._eps
        # In single precision, as checkpoints hold them.
        weights = (priorities**self._alpha).astype(np.float32)
        self._tree.set(places, weights)
        self._highest = max(self._highest, float(weights.max()))

    def state_dict(self) -> dict[str, Any]:
        return {"weights": self._tree.weights.astype(np.float32), "highest": self._highest}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._tree.fill(state["weights"])
        self._highest = float(state["highest"])
        self._is_loaded = True

    def _drawable(self) -> tuple[int, int]:
        """Return the first row that can be drawn, and the one after the last."""
        store = self.store
        oldest = store.total - len(store)
        first = oldest + store.reach * store.num_envs if oldest else 0
        return first, max(first, store.total - self._n_step * store.num_envs)

    def _fits(self, rows: Array) -> Array:
        """Say which rows can be learned from; those of another number of environments cannot."""
        store = self.store
        distances = store.columns["distances"][rows % store.capacity]
        fits: Array = (distances == 0) | (distances == store.num_envs)
        return fits & store.has_next(rows)

    def _drop_misfits(self) -> None:
        """Take the weights of rows that a checkpoint did not hold, or held of other environments.

        Where nothing of the run was changed this changes nothing.
        """
        store = self.store
        rows = np.arange(*self._drawable())
        weights = np.zeros(store.capacity)
        kept = rows[self._fits(rows)] % store.capacity
        weights[kept] = self._tree.weights[kept]
        self._tree.fill(weights)
        self._is_loaded = False


def check_window(capacity: int, num_envs: int, n_step: int, reach: int) -> None:
    """Refuse a buffer in which no window of n steps is ever whole."""
    least = (reach + n_step + 1) * num_envs
    if capacity < least:
        raise ConfigError(
            f"buffer_size={capacity} holds no window of n_step={n_step} for each of "
            f"num_envs={num_envs}. Use at least {least}."
        )
