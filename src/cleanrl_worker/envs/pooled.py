"""Environments in envpool: written in C++, stepped by its threads.

Its tasks are others' work under the same names. MuJoCo's dynamics were compared and are the same;
the random numbers, Box2D's and MiniGrid's details are its own. So it is used where it is asked for.
"""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

import numpy as np
from gymnasium import spaces

from cleanrl_worker.envs.actions import box_clipper
from cleanrl_worker.envs.observations import Array, ObservationEncoder, is_minigrid
from cleanrl_worker.envs.processes import available_cpus
from cleanrl_worker.envs.registry import ResolvedEnv, make
from cleanrl_worker.envs.sync import episode_limit
from cleanrl_worker.envs.vector import Episode, Step
from mosaic.contracts.errors import ConfigError, DependencyMissing

LARGEST_SEED = 2**31 - 1  # envpool keeps seeds in an int32


class PooledEnvs:
    """A pool of environments. It is made in `reset`, since only then envpool takes a seed."""

    def __init__(self, env: ResolvedEnv, num_envs: int, threads: int | None = None) -> None:
        self._id = env.id
        self.check_available()
        self.num_envs = num_envs
        self.threads = threads or available_cpus()
        twin = make(env)  # envpool's own bounds are wrong in places
        encoder = ObservationEncoder(twin.observation_space, env.id)
        self.observation_space = encoder.space
        self.action_space = twin.action_space
        self.max_episode_steps = episode_limit(twin)
        self._is_minigrid = is_minigrid(twin.observation_space)
        if not (self._is_minigrid or isinstance(twin.observation_space, spaces.Box)):
            raise unfit(env.id, f"its observation space is {twin.observation_space}")
        if not isinstance(self.action_space, spaces.Box | spaces.Discrete):
            raise unfit(env.id, f"its action space is {self.action_space}")
        twin.close()
        self._clip = (
            box_clipper(self.action_space) if isinstance(self.action_space, spaces.Box) else None
        )
        self._pool: Any = None
        self._clear_counts()

    def check_available(self) -> None:
        """Refuse what envpool does not have."""
        check_envpool()
        import envpool

        if self._id not in envpool.list_all_envs():
            raise unfit(self._id, "envpool does not have it")

    def make_pool(self, seed: int) -> Any:
        import envpool

        limit = self.max_episode_steps
        return envpool.make(
            self._id,
            env_type="gymnasium",
            num_envs=self.num_envs,
            num_threads=min(self.num_envs, self.threads),
            seed=seed % LARGEST_SEED,
            **({} if limit is None else {"max_episode_steps": limit}),
        )

    def _clear_counts(self) -> None:
        self._totals = np.zeros(self.num_envs, np.float64)
        self._lengths = np.zeros(self.num_envs, np.int64)

    def reset(self, seed: int) -> Array:
        self.close()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*precision lowered by casting")
            self._pool = self.make_pool(seed)
            assert self._pool.observation_space is not None  # made here, with its warning
        self._action_dtype = self._pool.action_space.dtype
        self._clear_counts()
        return self._encode(self._pool.reset()[0])

    def step(self, actions: Array) -> Step:
        if self._clip is not None:
            actions = self._clip(actions)
        raw, rewards, terminated, truncated, _ = self._pool.step(actions.astype(self._action_dtype))
        next_obs = self._encode(raw)
        self._totals += rewards
        self._lengths += 1
        if self.max_episode_steps is not None:
            # Procgen's games know no other limit than their own.
            truncated = truncated | (self._lengths >= self.max_episode_steps)
        ended = (terminated | truncated).nonzero()[0]
        if not len(ended):
            return Step(next_obs, rewards, terminated, truncated, next_obs, ())
        obs = next_obs.copy()
        obs[ended] = self._encode(self._pool.reset(ended.astype(np.int32))[0])
        return Step(obs, rewards, terminated, truncated, next_obs, self._finish(ended))

    def _finish(self, ended: Array) -> list[Episode]:
        episodes = [
            Episode(index, float(self._totals[index]), int(self._lengths[index]))
            for index in ended.tolist()
        ]
        self._totals[ended] = 0.0
        self._lengths[ended] = 0
        return episodes

    def _encode(self, raw: Any) -> Array:
        rows = raw["image"] if self._is_minigrid else raw
        encoded: Array = rows.astype(self.observation_space.dtype)
        return encoded

    def rebuild(self) -> None:
        """Nothing to do: `reset` builds."""

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None


def is_installed() -> bool:
    return importlib.util.find_spec("envpool") is not None


def check_envpool() -> None:
    if not is_installed():
        raise DependencyMissing(
            "env_backend='envpool' needs the package 'envpool', which is not installed.",
            hint="Install it with: pip install 'mosaic-rl[envpool]'",
        )


def unfit(env_id: str, reason: str) -> ConfigError:
    return ConfigError(
        f"env_backend='envpool' cannot be used with env_id={env_id!r}: {reason}.",
        hint="Use env_backend='auto'.",
    )
