"""Classic control on the device that learns: the backend `jax`.

An algorithm that knows this batch takes its `environment` into its own program and only says when
to begin anew; to anybody else it is a batch like any other.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from gymnasium import spaces

from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.registry import ResolvedEnv, make
from cleanrl_worker.envs.vector import Episode, Step
from cleanrl_worker.on_device import batch
from cleanrl_worker.on_device.classic_control import IDS, find_environment
from mosaic.contracts.errors import ConfigError


class DeviceEnvs:
    """A batch whose states are arrays of the device. `seed` is that of the last reset."""

    def __init__(self, env: ResolvedEnv, num_envs: int) -> None:
        found = find_environment(env.id)
        if found is None:
            raise ConfigError(
                f"env_backend='jax' is not there for env_id={env.id!r}, only for {', '.join(IDS)}.",
                hint="Use env_backend='auto'.",
            )
        self.environment = found
        self.num_envs = num_envs
        twin = make(env)
        assert isinstance(twin.observation_space, spaces.Box)
        self.observation_space: spaces.Box = twin.observation_space
        self.action_space = twin.action_space
        twin.close()
        self.max_episode_steps: int | None = found.max_episode_steps
        self.seed = 0
        self._steps = 0
        self._batch: Any = None
        self._begin = jax.jit(lambda key: batch.begin(found, num_envs, key))
        self._observe = jax.jit(lambda held: batch.observe(found, held))
        self._step = jax.jit(lambda held, actions, key: batch.step(found, held, actions, key))

    def reset(self, seed: int) -> Array:
        self.seed, self._steps = seed, 0
        self._batch = self._begin(jax.random.key(seed))
        return np.asarray(self._observe(self._batch))

    def step(self, actions: Array) -> Step:
        self._steps += 1
        key = jax.random.fold_in(jax.random.key(self.seed), self._steps)
        self._batch, outcome = self._step(self._batch, actions, key)
        got = jax.tree.map(np.asarray, outcome)
        episodes = [
            Episode(index, float(got.totals[index]), int(got.lengths[index]))
            for index in got.ended.nonzero()[0].tolist()
        ]
        obs = np.asarray(self._observe(self._batch)) if episodes else got.next_obs
        truncated = got.ended & ~got.terminated
        return Step(obs, got.rewards, got.terminated, truncated, got.next_obs, episodes)

    def rebuild(self) -> None:
        """Nothing to do: a reset depends on its seed alone."""

    def close(self) -> None:
        self._batch = None
