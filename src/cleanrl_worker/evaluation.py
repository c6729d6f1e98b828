"""Playing episodes with a trained policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.policies import Policy


class EvaluatedEpisode(NamedTuple):
    number: int
    seed: int
    total_reward: float
    length: int


def evaluate(
    policy: Policy,
    envs: EnvBatch,
    *,
    episodes: int,
    seed: int,
    deterministic: bool = True,
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[EvaluatedEpisode]:
    """Play one environment; episode i is seeded with `seed + i`, so that it starts the same."""
    assert envs.num_envs == 1
    for index in range(episodes):
        rng = None if deterministic else np.random.default_rng((seed, index))
        obs = envs.reset(seed + index)
        while True:
            step = envs.step(policy(obs, rng))
            if should_stop():
                return
            if step.episodes:
                ended = step.episodes[0]
                yield EvaluatedEpisode(index, seed + index, ended.total_reward, ended.length)
                break
            obs = step.obs
