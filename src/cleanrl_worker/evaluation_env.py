"""Where a policy is evaluated: a fresh environment for every episode, seen as in training."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from cleanrl_worker.action_labels import action_labels
from cleanrl_worker.envs.actions import action_decoder
from cleanrl_worker.envs.normalise import NormalisedEnvs, ScaledRewards, normalised
from cleanrl_worker.envs.observations import Array, ObservationEncoder
from cleanrl_worker.envs.pictures import prepare_renderer, render_options, take_picture
from cleanrl_worker.envs.registry import PLAYERS, ResolvedEnv, make
from cleanrl_worker.envs.sight import Normalise
from cleanrl_worker.envs.sync import episode_limit
from cleanrl_worker.envs.vector import EnvBatch, Episode, Step
from cleanrl_worker.envs.watched import watched
from cleanrl_worker.filming import Filmed, find_writer, video_name
from cleanrl_worker.showing import View
from mosaic.contracts.errors import ConfigError

_LOG = logging.getLogger(__name__)

_REWARDS_ARE_NOT_SEEN = 1.0  # the discount of normalised rewards, which nobody reads here


class Outcome(NamedTuple):
    """What one step led to. The reward is the environment's own, whatever the policy sees."""

    obs: Array
    reward: float
    terminated: bool
    truncated: bool


class SingleEnv:
    """One environment as a batch of one; an episode that ends is not followed by a reset."""

    num_envs: int = 1

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
        self.observation = self._encoder.allocate(1)  # the last one, as no normaliser has seen it
        self._total, self._length = 0.0, 0

    def reset(self, seed: int) -> Array:
        self._total, self._length = 0.0, 0
        return self._row(self._env.reset(seed=seed)[0])

    def step(self, actions: Array) -> Step:
        (action,) = self._decode(actions)
        observation, reward, terminated, truncated, _ = self._env.step(action)
        self.reward = float(reward)
        self._total, self._length = self._total + self.reward, self._length + 1
        obs = self._row(observation)
        rewards = np.array([self.reward], np.float32)
        ended = [Episode(0, self._total, self._length)] if terminated or truncated else ()
        return Step(obs, rewards, np.array([terminated]), np.array([truncated]), obs, ended)

    def picture(self, index: int, max_dim: int) -> Array:
        """Let the environment draw itself."""
        return take_picture(self._env, max_dim)

    def labels(self) -> list[str]:
        return action_labels(self._env)

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
        self.observation = obs
        return obs


class SingleGame(SingleEnv):
    """One game of several players, whose rows are the players'; the first one's reward counts.

    A policy plays them all. Where one action is given by hand, it is the first one's, and the
    others stand still.
    """

    def __init__(self, make_env: Callable[[int], gym.Env[Any, Any]], env_id: str) -> None:
        super().__init__(make_env, env_id)
        game: Any = self._env.unwrapped
        self.num_envs = game.players

    def reset(self, seed: int) -> Array:
        self._total, self._length = 0.0, 0
        self.observation = self._env.reset(seed=seed)[0]
        return self.observation

    def step(self, actions: Array) -> Step:
        standing_still = np.zeros(self.num_envs - len(actions), np.int64)
        played = np.concatenate((actions, standing_still))
        obs, points, over, cut, _ = self._env.step(played)
        rewards, terminated, truncated = map(np.asarray, (points, over, cut))
        self.reward, self.observation = float(rewards[0]), obs
        self._total, self._length = self._total + self.reward, self._length + 1
        is_over = bool(terminated[0] or truncated[0])
        ended = [Episode(0, self._total, self._length)] if is_over else ()
        return Step(obs, rewards, terminated, truncated, obs, ended)


class Stage:
    """One environment and what the policy sees of it.

    Every episode has an environment of its own, since a used one is not always a fresh one
    (BipedalWalker): so an episode depends on the policy, the seed and its number alone.

    `view` shows the episodes while they are played; with `draw_dim` they can be drawn on demand, at
    most so many pixels a side.
    """

    def __init__(
        self,
        env: ResolvedEnv,
        *,
        normalise: Normalise | None = None,
        video_dir: Path | None = None,
        view: View | None = None,
        draw_dim: int | None = None,
    ) -> None:
        dim = draw_dim if view is None else view.settings.max_dim
        single = SingleGame if env.family == PLAYERS.name else SingleEnv
        self.single = single(_maker(env, video_dir, dim), env.id)
        self._shown: EnvBatch = self.single if view is None else watched(self.single, view)
        self._normaliser: ScaledRewards | None = None
        if normalise is not None:
            self._normaliser = normalised(self._shown, normalise, gamma=_REWARDS_ARE_NOT_SEEN)

    @property
    def envs(self) -> EnvBatch:
        """The batch of one that the policy acts on."""
        return self._shown if self._normaliser is None else self._normaliser

    def picture(self, max_dim: int) -> Array | None:
        """Draw the episode as it stands; None where the environment draws nothing."""
        try:
            return self.single.picture(0, max_dim)
        except Exception:  # noqa: BLE001 - renderers fail in any way, and playing goes on
            _LOG.debug("no picture", exc_info=True)
            return None

    @property
    def has_scaled_observations(self) -> bool:
        """Say whether what the policy sees depends on the statistics."""
        return isinstance(self._normaliser, NormalisedEnvs)

    def statistics(self) -> dict[str, Array]:
        """Return the normaliser's statistics; without one there are none."""
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
        self.single.episode = episode
        self.envs.rebuild()
        return self.envs.reset(seed)

    def step(self, actions: Array) -> Outcome:
        step = self.envs.step(actions)
        reward = self.single.reward
        return Outcome(step.obs, reward, bool(step.terminated[0]), bool(step.truncated[0]))

    def finish(self) -> None:
        """Say that the episode was played to its end: its video stays."""
        self.single.finish()

    def close(self) -> None:
        self.envs.close()


def _maker(
    env: ResolvedEnv, video_dir: Path | None, draw_dim: int | None
) -> Callable[[int], gym.Env[Any, Any]]:
    """Return what makes the environment of an episode, filmed where there is a folder."""
    if video_dir is None and draw_dim is None:
        return lambda _: make(env, whole_games=True)
    if video_dir is None:
        assert draw_dim is not None
        return lambda _: _drawing(env, draw_dim)
    find_writer()
    return lambda episode: Filmed(_rendered(env), video_dir / video_name(episode))


def _drawing(env: ResolvedEnv, max_dim: int) -> gym.Env[Any, Any]:
    """Make an environment that draws cheaply; one that cannot draw is made as it is."""
    try:
        made = make(env, whole_games=True, **render_options(env, max_dim))
    except (ConfigError, TypeError):
        return make(env, whole_games=True)
    prepare_renderer(made, max_dim)
    return made


def _rendered(env: ResolvedEnv) -> gym.Env[Any, Any]:
    made = make(env, whole_games=True, render_mode="rgb_array")
    if made.render_mode != "rgb_array":
        raise ConfigError(f"eval_capture_video=true: env_id={env.id!r} renders no pictures.")
    return made
