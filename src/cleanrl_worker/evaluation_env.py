"""Where a policy is evaluated: a fresh environment for every episode, seen as in training."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from cleanrl_worker.envs.actions import action_decoder
from cleanrl_worker.envs.normalise import NormalisedEnvs
from cleanrl_worker.envs.observations import Array, ObservationEncoder
from cleanrl_worker.envs.registry import ResolvedEnv, make
from cleanrl_worker.envs.sync import episode_limit
from cleanrl_worker.envs.vector import EnvBatch, Step
from cleanrl_worker.filming import Filmed, find_writer
from mosaic.contracts.errors import ConfigError

_REWARDS_ARE_NOT_SEEN = 1.0  # the discount of normalised rewards, which nobody reads here


class Outcome(NamedTuple):
    """What one step led to. The reward is the environment's own, whatever the policy sees."""

    obs: Array
    reward: float
    terminated: bool
    truncated: bool


class SingleEnv:
    """One environment as a batch of one; an episode that ends is not followed by a reset."""

    num_envs = 1

    def __init__(self, make_env: Callable[[int], gym.Env[Any, Any]], env_id: str) -> None:
        self._make = make_env
        self._env = make_env(0)
        self._encoder = ObservationEncoder(self._env.observation_space, env_id)
        self._decode = action_decoder(self._env.action_space)
        self.observation_space = self._encoder.space
        self.action_space = self._env.action_space
        self.max_episode_steps = episode_limit(self._env)
        self.episode = 0
        self.reward = 0.0

    def reset(self, seed: int) -> Array:
        return self._row(self._env.reset(seed=seed)[0])

    def step(self, actions: Array) -> Step:
        (action,) = self._decode(actions)
        observation, reward, terminated, truncated, _ = self._env.step(action)
        self.reward = float(reward)
        obs = self._row(observation)
        rewards = np.array([self.reward], np.float32)
        return Step(obs, rewards, np.array([terminated]), np.array([truncated]), obs, ())

    def rebuild(self) -> None:
        self._env.close()
        self._env = self._make(self.episode)

    def finish(self) -> None:
        if isinstance(self._env, Filmed):
            self._env.finish()

    def close(self) -> None:
        self._env.close()

    def _row(self, observation: Any) -> Array:
        obs = self._encoder.allocate(1)
        obs[0] = self._encoder.encode(observation)
        return obs


class Stage:
    """One environment and what the policy sees of it.

    Every episode has an environment of its own, since a used one is not always a fresh one
    (BipedalWalker): so an episode depends on the policy, the seed and its number alone.
    """

    def __init__(
        self, env: ResolvedEnv, *, normalise: bool = False, video_dir: Path | None = None
    ) -> None:
        self._single = SingleEnv(_maker(env, video_dir), env.id)
        self._normaliser: NormalisedEnvs | None = None
        if normalise:
            self._normaliser = NormalisedEnvs(self._single, gamma=_REWARDS_ARE_NOT_SEEN)

    @property
    def envs(self) -> EnvBatch:
        """The batch of one that the policy acts on."""
        return self._single if self._normaliser is None else self._normaliser

    def statistics(self) -> dict[str, Array]:
        """Return the statistics of the observations; without a normaliser there are none."""
        return {} if self._normaliser is None else self._normaliser.state_dict()

    def freeze(self, statistics: Mapping[str, Array]) -> None:
        """Normalise by these statistics from now on; until then they are estimated."""
        assert self._normaliser is not None
        self._normaliser.load_state_dict(statistics)
        self._normaliser.frozen = True

    def begin(self, episode: int, seed: int) -> Array:
        # For environments that draw from the global states of Python and NumPy.
        random.seed(seed)
        np.random.seed(seed)
        self._single.episode = episode
        self.envs.rebuild()
        return self.envs.reset(seed)

    def step(self, actions: Array) -> Outcome:
        step = self.envs.step(actions)
        reward = self._single.reward
        return Outcome(step.obs, reward, bool(step.terminated[0]), bool(step.truncated[0]))

    def finish(self) -> None:
        """Say that the episode was played to its end: its video stays."""
        self._single.finish()

    def close(self) -> None:
        self.envs.close()


def _maker(env: ResolvedEnv, video_dir: Path | None) -> Callable[[int], gym.Env[Any, Any]]:
    """Return what makes the environment of an episode, filmed where there is a folder."""
    if video_dir is None:
        return lambda _: make(env, whole_games=True)
    find_writer()
    return lambda episode: Filmed(_rendered(env), video_dir / f"episode-{episode:05d}.mp4")


def _rendered(env: ResolvedEnv) -> gym.Env[Any, Any]:
    made = make(env, whole_games=True, render_mode="rgb_array")
    if made.render_mode != "rgb_array":
        raise ConfigError(f"eval_capture_video=true: env_id={env.id!r} renders no pictures.")
    return made
