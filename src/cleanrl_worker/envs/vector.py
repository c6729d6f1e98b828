"""Several environments stepped together, with one meaning of "done" for every backend.

An environment that ends is reset in the same step. `obs` is what the agent sees next;
`next_obs` is what the action led to, so its rows of ended environments hold their last
observation: that is what truncations bootstrap from and what a replay buffer stores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from cleanrl_worker.envs.observations import Array, ObservationEncoder


class Episode(NamedTuple):
    """A finished episode."""

    env: int
    total_reward: float
    length: int


class Step(NamedTuple):
    """What one step of all environments gave. The arrays are the caller's to keep."""

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

    def rebuild(self) -> None: ...

    def close(self) -> None: ...


class SyncEnvs:
    """Environments stepped one after the other in this process.

    Leaner than Gymnasium's SyncVectorEnv: no copies of info dictionaries, no deep copies.
    """

    def __init__(
        self, make: Callable[[int], gym.Env[Any, Any]], num_envs: int, *, env_id: str
    ) -> None:
        self._make = make
        self.num_envs = num_envs
        self._envs = [make(index) for index in range(num_envs)]
        first = self._envs[0]
        self._encoder = ObservationEncoder(first.observation_space, env_id)
        self.observation_space = self._encoder.space
        self.action_space = first.action_space
        self.max_episode_steps = first.spec.max_episode_steps if first.spec else None
        self._first_action = (
            int(first.action_space.start) if isinstance(first.action_space, spaces.Discrete) else 0
        )
        self._totals = [0.0] * num_envs
        self._lengths = [0] * num_envs

    def reset(self, seed: int) -> Array:
        """Reset all environments, the i-th with `seed + i`; later resets draw from that."""
        obs = self._encoder.allocate(self.num_envs)
        for index, env in enumerate(self._envs):
            self._encoder.write(obs[index], env.reset(seed=seed + index)[0])
        self._totals = [0.0] * self.num_envs
        self._lengths = [0] * self.num_envs
        return obs

    def step(self, actions: Array) -> Step:
        write = self._encoder.write
        obs = self._encoder.allocate(self.num_envs)
        next_obs = obs
        rewards, terminated, truncated = [], [], []
        episodes: list[Episode] = []
        for index, (env, action) in enumerate(
            zip(self._envs, self._as_actions(actions), strict=True)
        ):
            observation, reward, ended, cut, _ = env.step(action)
            reward = float(reward)
            self._totals[index] += reward
            self._lengths[index] += 1
            rewards.append(reward)
            terminated.append(ended)
            truncated.append(cut)
            write(obs[index], observation)
            if ended or cut:
                if next_obs is obs:
                    next_obs = obs.copy()
                next_obs[index] = obs[index]
                episodes.append(Episode(index, self._totals[index], self._lengths[index]))
                self._totals[index], self._lengths[index] = 0.0, 0
                write(obs[index], env.reset()[0])
            elif next_obs is not obs:
                next_obs[index] = obs[index]
        return Step(
            obs,
            np.array(rewards, np.float32),
            np.array(terminated, np.bool_),
            np.array(truncated, np.bool_),
            next_obs,
            episodes,
        )

    def rebuild(self) -> None:
        """Close every environment and build it anew: a used one is not always a fresh one."""
        self.close()
        self._envs = [self._make(index) for index in range(self.num_envs)]

    def close(self) -> None:
        for env in self._envs:
            env.close()

    def _as_actions(self, actions: Array) -> Sequence[Any]:
        if isinstance(self.action_space, spaces.Discrete):
            values: list[int] = actions.tolist()
            return (
                [value + self._first_action for value in values] if self._first_action else values
            )
        return list(actions)
