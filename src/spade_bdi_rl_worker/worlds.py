"""Tabular environments: their transition tables as lists, stepped without Gymnasium's overhead.

The table, the order of random draws and the time limit are the environment's own: an episode that
is played here and one that is played in the environment with the same seed and actions are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import gymnasium
import numpy as np

from mosaic.contracts.errors import ConfigError, suggest

ENVIRONMENTS = ("FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "Taxi-v4")
# CliffWalking has no limit of its own: an agent that knows nothing walks for ever.
_USUAL_LIMIT = 500
_DRAWS = 64

# Cumulative probabilities, then for each outcome the next state, the reward, and whether it ends.
Outcomes = tuple[tuple[float, ...], tuple[tuple[int, float, bool], ...]]


@dataclass(frozen=True, slots=True)
class World:
    """One environment. `table[state][action]` holds what may happen."""

    env_id: str
    states: int
    actions: int
    limit: int
    start: tuple[float, ...]
    table: tuple[tuple[Outcomes, ...], ...]

    def begin(self, seed: int) -> tuple[int, Iterator[float]]:
        """Start an episode; return the first state and the draws that are left."""
        draws = _draws(seed)
        return _pick(self.start, next(draws)), draws

    def step(self, state: int, action: int, draws: Iterator[float]) -> tuple[int, float, bool]:
        thresholds, outcomes = self.table[state][action]
        return outcomes[_pick(thresholds, next(draws))]


def _draws(seed: int) -> Iterator[float]:
    """Yield what the environment's own generator would give after `reset(seed=seed)`."""
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    while True:
        yield from generator.random(_DRAWS).tolist()


def _pick(thresholds: tuple[float, ...], draw: float) -> int:
    for index, threshold in enumerate(thresholds):
        if threshold > draw:
            return index
    return 0  # as argmax over nothing but False


def make_env(env_id: str) -> Any:
    """Build the environment itself."""
    return gymnasium.make(env_id)


def load_world(env_id: str) -> World:
    if env_id not in ENVIRONMENTS:
        raise ConfigError(
            f"env_id={env_id!r} has no transition table: this worker plays "
            f"{', '.join(ENVIRONMENTS)}.{suggest(env_id, ENVIRONMENTS)}"
        )
    env = make_env(env_id)
    inner: Any = env.unwrapped
    spec = env.spec
    table = tuple(
        tuple(_outcomes(inner.P[state][action]) for action in range(inner.action_space.n))
        for state in range(inner.observation_space.n)
    )
    world = World(
        env_id=env_id,
        states=int(inner.observation_space.n),
        actions=int(inner.action_space.n),
        limit=(spec.max_episode_steps if spec is not None else None) or _USUAL_LIMIT,
        start=tuple(accumulate(float(share) for share in inner.initial_state_distrib)),
        table=table,
    )
    env.close()
    return world


def _outcomes(transitions: list[tuple[float, int, float, bool]]) -> Outcomes:
    # numpy's cumulative sum, whose last bits decide like the environment's own.
    thresholds = np.cumsum([share for share, *_ in transitions]).tolist()
    return tuple(thresholds), tuple(
        (int(state), float(reward), bool(is_end)) for _, state, reward, is_end in transitions
    )
