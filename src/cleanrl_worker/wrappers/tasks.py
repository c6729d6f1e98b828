"""An environment that is another one in each episode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from cleanrl_worker.envs.sync import ScoredGame, episode_limit
from cleanrl_worker.random_state import MAX_SEED
from mosaic.contracts.errors import ConfigError


class Chooser(Protocol):
    """Who says which task comes next, and hears how each went."""

    def choose(self, env: int) -> int: ...

    def finished(self, env: int, task: int, total_reward: float, terminated: bool) -> None: ...


class TaskEnv(gym.Env[Any, Any]):
    """One environment of a batch, which plays the task that the chooser names at each reset.

    Each task's environment is made when it is first chosen and kept. It is seeded then from the
    seed of the last seeded reset and the task, so that what it shows depends on those alone.
    """

    def __init__(
        self, index: int, makers: Sequence[Callable[[], gym.Env[Any, Any]]], chooser: Chooser
    ) -> None:
        self._index = index
        self._makers = makers
        self._chooser = chooser
        self._made: dict[int, gym.Env[Any, Any]] = {}
        self._seeded: set[int] = set()
        self._seed = 0
        self._total = 0.0
        self._task = 0
        self.observation_space = self._env.observation_space
        self.action_space = self._env.action_space
        self.metadata = self._env.metadata
        self.render_mode = self._env.render_mode
        self.max_steps = episode_limit(self._env)
        if isinstance(self._env.unwrapped, ScoredGame):
            raise ConfigError("extras.curriculum: Atari games cannot be tasks, since they score.")

    @property
    def _env(self) -> gym.Env[Any, Any]:
        if self._task not in self._made:
            self._made[self._task] = self._makers[self._task]()
        return self._made[self._task]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self._seed = seed
            self._seeded.clear()
        self._task = self._chooser.choose(self._index)
        self._total = 0.0
        return self._env.reset(seed=self._first_seed(), options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        result = self._env.step(action)
        self._total += float(result[1])
        if result[2] or result[3]:
            self._chooser.finished(self._index, self._task, self._total, bool(result[2]))
        return result

    def render(self) -> Any:
        return self._env.unwrapped.render()

    def close(self) -> None:
        for env in self._made.values():
            env.close()

    def _first_seed(self) -> int | None:
        """Return the seed of a task that has none yet; later resets draw from it."""
        if self._task in self._seeded:
            return None
        self._seeded.add(self._task)
        sequence = np.random.SeedSequence((self._seed, self._task))
        return int(sequence.generate_state(1)[0]) % MAX_SEED
