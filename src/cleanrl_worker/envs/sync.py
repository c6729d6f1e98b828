"""Environments stepped one after the other in this process: the backend that every one has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np

from cleanrl_worker.envs.actions import action_decoder
from cleanrl_worker.envs.observations import Array, ObservationEncoder
from cleanrl_worker.envs.pictures import take_picture
from cleanrl_worker.envs.vector import Episode, Step

MakeEnv = Callable[[int], gym.Env[Any, Any]]


@runtime_checkable
class ScoredGame(Protocol):
    """An environment of which an episode is only a part, as one life is of an Atari game.

    `finished_game`: the score and length of the game that ended with the last episode, if one did.
    """

    finished_game: tuple[float, int] | None


class SyncEnvs:
    """Leaner than Gymnasium's SyncVectorEnv: no info dictionaries, no deep copies, no wrappers.

    Gymnasium's time limit and its check that `reset` came first are taken off; the batch counts
    steps anyway, so it keeps the limit itself.
    """

    def __init__(self, make: MakeEnv, num_envs: int, *, env_id: str) -> None:
        self._make = make
        self.num_envs = num_envs
        self._envs = [make(index) for index in range(num_envs)]
        first = self._envs[0]
        self._encoder = ObservationEncoder(first.observation_space, env_id)
        self.observation_space = self._encoder.space
        self.action_space = first.action_space
        self.max_episode_steps = episode_limit(first)
        self._decode = action_decoder(first.action_space)
        self._none_ended: Array = np.zeros(num_envs, np.bool_)
        self._none_ended.setflags(write=False)
        self._bind()

    def _bind(self) -> None:
        """Look up once what every step calls."""
        bare = [_without_time_limit(env) for env in self._envs]
        self._limit = min((limit for _, limit in bare), default=float("inf"))
        self._steps = [env.step for env, _ in bare]
        self._resets = [env.reset for env, _ in bare]
        whole = (env.unwrapped for env in self._envs)
        self._games = [env if isinstance(env, ScoredGame) else None for env in whole]
        self._totals = [0.0] * self.num_envs
        self._lengths = [0] * self.num_envs

    def reset(self, seed: int) -> Array:
        obs = self._encoder.allocate(self.num_envs)
        for index, reset in enumerate(self._resets):
            obs[index] = self._encoder.encode(reset(seed=seed + index)[0])
        self._totals = [0.0] * self.num_envs
        self._lengths = [0] * self.num_envs
        return obs

    def step(self, actions: Array) -> Step:
        steps, encode = self._steps, self._encoder.encode
        totals, lengths = self._totals, self._lengths
        next_obs = self._encoder.allocate(self.num_envs)
        rewards, terminated, truncated = [], [], []
        ended: list[int] = []
        for index, action in enumerate(self._decode(actions)):
            observation, reward, is_terminated, is_truncated, _ = steps[index](action)
            next_obs[index] = encode(observation)
            reward = float(reward)
            rewards.append(reward)
            totals[index] += reward
            lengths[index] += 1
            if lengths[index] >= self._limit:
                is_truncated = True
            terminated.append(is_terminated)
            truncated.append(is_truncated)
            if is_terminated or is_truncated:
                ended.append(index)
        if not ended:
            none = self._none_ended
            return Step(next_obs, np.array(rewards, np.float32), none, none, next_obs, ())
        return Step(
            self._reset_ended(next_obs, ended),
            np.array(rewards, np.float32),
            np.array(terminated, np.bool_),
            np.array(truncated, np.bool_),
            next_obs,
            self._finish(ended),
        )

    def picture(self, index: int, max_dim: int) -> Array:
        """Let an environment draw itself."""
        return take_picture(self._envs[index], max_dim)

    def _reset_ended(self, next_obs: Array, ended: list[int]) -> Array:
        obs = next_obs.copy()
        for index in ended:
            obs[index] = self._encoder.encode(self._resets[index]()[0])
        return obs

    def _finish(self, ended: list[int]) -> list[Episode]:
        episodes = []
        for index in ended:
            game = self._games[index]
            played = self._totals[index], self._lengths[index]
            finished = played if game is None else game.finished_game
            if finished is not None:
                episodes.append(Episode(index, *finished))
            self._totals[index], self._lengths[index] = 0.0, 0
        return episodes

    def rebuild(self) -> None:
        self.close()
        self._envs = [self._make(index) for index in range(self.num_envs)]
        self._bind()

    def close(self) -> None:
        for env in self._envs:
            env.close()


def episode_limit(env: gym.Env[Any, Any]) -> int | None:
    """Return the most steps that an episode can have: Gymnasium's limit, or MiniGrid's own."""
    if env.spec is not None and env.spec.max_episode_steps is not None:
        return env.spec.max_episode_steps
    own = getattr(env.unwrapped, "max_steps", None)
    return own if isinstance(own, int) else None


def _without_time_limit(env: gym.Env[Any, Any]) -> tuple[gym.Env[Any, Any], float]:
    """Take off the wrappers that `gym.make` put outside, and return the limit that one held."""
    limit = float("inf")
    if type(env) is gym.wrappers.TimeLimit:
        limit = env._max_episode_steps
        env = env.env
    if type(env) is gym.wrappers.OrderEnforcing:
        env = env.env
    return env, limit
