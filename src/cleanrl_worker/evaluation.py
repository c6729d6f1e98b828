"""Playing episodes with a trained policy.

Episode k of an evaluation is seeded from (seed, k) and plays in an environment of its own. The same
policy and the same seed give the same returns, however the episodes are divided into batches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from cleanrl_worker.evaluation_env import Stage
from cleanrl_worker.policies import Policy, begin_episode
from cleanrl_worker.random_state import MAX_SEED

# Keeps evaluation seeds apart from those of the cuts of a training run with the same seed.
_EVALUATION = 0xE7A1


class EvaluatedEpisode(NamedTuple):
    """A played episode. `is_cut`: it was truncated by the evaluation's own limits."""

    number: int
    seed: int
    total_reward: float
    discounted_return: float
    length: int
    is_truncated: bool
    is_cut: bool


class Rules(NamedTuple):
    """How episodes are played. `gamma` discounts what is reported, and ends nothing."""

    seed: int
    deterministic: bool = True
    gamma: float = 1.0
    max_steps: int | None = None
    max_seconds: float | None = None


def episode_seed(seed: int, number: int) -> int:
    """Return the seed of the environment of one episode."""
    return int(np.random.SeedSequence((seed, number, _EVALUATION)).generate_state(1)[0]) % MAX_SEED


def evaluate(
    policy: Policy,
    stage: Stage,
    numbers: Iterable[int],
    rules: Rules,
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[EvaluatedEpisode]:
    """Play the episodes of these numbers; one that is stopped is not yielded."""
    for number in numbers:
        episode = _play(policy, stage, number, rules, should_stop)
        if episode is None:
            return
        stage.finish()
        yield episode


def _play(
    policy: Policy, stage: Stage, number: int, rules: Rules, should_stop: Callable[[], bool]
) -> EvaluatedEpisode | None:
    seed = episode_seed(rules.seed, number)
    rng = None if rules.deterministic else np.random.default_rng((rules.seed, number))
    max_steps = rules.max_steps or float("inf")
    deadline = time.monotonic() + (float("inf") if rules.max_seconds is None else rules.max_seconds)
    total = discounted = 0.0
    discount = 1.0
    length = 0
    obs = stage.begin(number, seed)
    begin_episode(policy)
    while not should_stop():
        obs, reward, terminated, truncated = stage.step(policy(obs, rng))
        total += reward
        discounted += discount * reward
        discount *= rules.gamma
        length += 1
        is_cut = length >= max_steps or time.monotonic() >= deadline
        if terminated or truncated or is_cut:
            ended = terminated or truncated
            return EvaluatedEpisode(
                number, seed, total, discounted, length, not terminated, is_cut and not ended
            )
    return None
