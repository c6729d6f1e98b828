"""CartPole as one array computation: Gymnasium's own vector implementation."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.envs.classic_control.cartpole import CartPoleEnv, CartPoleVectorEnv
from gymnasium.utils import seeding

from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.pictures import prepare_renderer, take_picture
from cleanrl_worker.envs.registry import ResolvedEnv, without_version_warnings
from cleanrl_worker.envs.vector import Episode, Step
from mosaic.contracts.errors import ConfigError

NATIVE_IDS = ("CartPole-v0", "CartPole-v1")


class NativeCartPoles:
    """All poles in one state array.

    Gymnasium resets an ended pole in the next step and draws all starts from one generator. Here it
    is reset in the same step, from a generator of its own, so that episodes start as they do in
    single environments with the same seeds. The arithmetic differs from theirs in the last bits.
    """

    def __init__(self, env: ResolvedEnv, num_envs: int) -> None:
        if env.id not in NATIVE_IDS:
            raise ConfigError(
                f"env_backend='native' is not there for env_id={env.id!r}, "
                f"only for Atari games, {' and '.join(NATIVE_IDS)}.",
                hint="Use env_backend='auto'.",
            )
        self._id = env.id
        self.num_envs = num_envs
        self._easel: CartPoleEnv | None = None
        self._poles = self._make()
        space = self._poles.single_observation_space
        assert isinstance(space, spaces.Box)
        self.observation_space: spaces.Box = space
        self.action_space = self._poles.single_action_space
        self.max_episode_steps: int | None = self._poles.max_episode_steps
        self._generators: list[np.random.Generator] = []

    def _make(self) -> CartPoleVectorEnv:
        with without_version_warnings():
            made = gym.make_vec(self._id, self.num_envs, vectorization_mode="vector_entry_point")
        assert isinstance(made, CartPoleVectorEnv)
        return made

    def reset(self, seed: int) -> Array:
        self._generators = [seeding.np_random(seed + i)[0] for i in range(self.num_envs)]
        self._poles.reset(seed=seed)
        return self._start(range(self.num_envs))

    def step(self, actions: Array) -> Step:
        next_obs, rewards, terminated, truncated, _ = self._poles.step(actions)
        ended = self._poles.prev_done.nonzero()[0].tolist()
        if not ended:
            return Step(next_obs, rewards, terminated, truncated, next_obs, ())
        lengths = self._poles.steps
        # Every step gives a reward of 1, so the return is the length.
        episodes = [Episode(index, float(lengths[index]), int(lengths[index])) for index in ended]
        return Step(self._start(ended), rewards, terminated, truncated, next_obs, episodes)

    def _start(self, indices: range | list[int]) -> Array:
        """Begin new episodes where asked, and return what all poles show."""
        poles = self._poles
        state: Any = poles.state  # declared as None, an array from the first reset on
        for index in indices:
            state[:, index] = self._generators[index].uniform(poles.low, poles.high, 4)
            poles.steps[index] = 0
        poles.prev_done[:] = False
        obs: Array = state.T.astype(np.float32)
        return obs

    def picture(self, index: int, max_dim: int) -> Array:
        """Draw one pole, with a single environment that takes its state over."""
        if self._easel is None:
            self._easel = CartPoleEnv(render_mode="rgb_array")
            prepare_renderer(self._easel, max_dim)
        state: Any = self._poles.state
        self._easel.state = state[:, index]
        return take_picture(self._easel, max_dim)

    def rebuild(self) -> None:
        self.close()
        self._poles = self._make()

    def close(self) -> None:
        self._poles.close()
        if self._easel is not None:
            self._easel.close()
            self._easel = None
