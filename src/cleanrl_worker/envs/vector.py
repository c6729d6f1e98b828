"""Several environments stepped together, with one meaning of "done" for every backend.

An environment that ends is reset in the same step. `obs` is what the agent sees next;
`next_obs` is what the action led to, so its rows of ended environments hold their last
observation: that is what truncations bootstrap from and what a replay buffer stores.

A finished episode is reported with its return, but for a life of an Atari game: that ends the
agent's episode like any other, and only the whole game is reported, with its score.

The first reset after `reset(seed)` gives environment i the seed `seed + i`; later ones draw from
that. Actions of a Box are clipped to its bounds; those of a Discrete count from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
from gymnasium import spaces

from cleanrl_worker.envs.observations import Array


class Episode(NamedTuple):
    """A finished episode, or a finished game of several. `length` counts the agent's steps.

    `player` is the number of whom it was played by, in games of several players.
    """

    env: int
    total_reward: float
    length: int
    player: int | None = None


class Step(NamedTuple):
    """What one step of all environments gave. The arrays are the caller's to keep, not to change.

    `obs` and `next_obs` are the same array where no environment ended.
    """

    obs: Array
    rewards: Array
    terminated: Array
    truncated: Array
    next_obs: Array
    episodes: Sequence[Episode]


class EnvBatch(Protocol):
    """A batch of environments of one kind."""

    num_envs: int
    observation_space: spaces.Box
    action_space: gym.Space[Any]
    max_episode_steps: int | None

    def reset(self, seed: int) -> Array: ...

    def step(self, actions: Array) -> Step: ...

    def rebuild(self) -> None:
        """Close every environment and build it anew: a used one is not always a fresh one."""

    def close(self) -> None: ...
