"""Atari games that are stepped inside a compiled rollout.

envpool's are, by its XLA interface; any other batch is by a call back to the host. They differ in
when an ended game is reset: envpool does it in the next step, whose action counts for nothing and
which must not be learned from.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

from cleanrl_worker.envs.atari import NOOP_MAX, SIZE, SKIP, STACK, AtariGame
from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.pooled import LARGEST_SEED, check_envpool, unfit
from cleanrl_worker.envs.processes import available_cpus
from cleanrl_worker.envs.registry import ResolvedEnv, make
from cleanrl_worker.envs.vector import EnvBatch, Episode, Step

Rows = Any  # an array of the device, of the host, or only the shape of one


class Stepped(NamedTuple):
    """What one step inside a program gave, one row a game.

    `points` are what the game paid, `is_over` says that the whole game has ended, not only a life.
    """

    obs: Rows
    rewards: Rows
    terminated: Rows
    truncated: Rows
    next_obs: Rows
    points: Rows
    is_over: Rows


class Games(Protocol):
    """Games that a program steps. A handle threads through it, so that steps keep their order.

    `is_built_anew` says that a reset makes other games, which need another program.
    """

    is_built_anew: bool
    resets_in_next_step: bool

    @property
    def handle(self) -> Any: ...

    def step_inside(self, handle: Any, actions: jax.Array) -> tuple[Any, Stepped]: ...

    def episodes(self, points: Array, is_over: Array, is_reset: Array) -> list[Episode]:
        """Return the games that a rollout finished, from its arrays of [step, game]."""


class PoolInside:
    """envpool's own games, of which a lost life ends an episode. They are made in `reset`."""

    is_built_anew = True
    resets_in_next_step = True

    def __init__(self, env: ResolvedEnv, num_envs: int) -> None:
        check_envpool()
        import envpool

        options = gym.spec(env.id).kwargs
        self._task = "".join(word.title() for word in options["game"].split("_")) + "-v5"
        if self._task not in envpool.list_all_envs():
            raise unfit(env.id, "envpool does not have it")
        self._stickiness = options.get("repeat_action_probability", 0.25)  # AtariEnv's default
        self._has_all_actions = options.get("full_action_space", False)
        self.num_envs = num_envs
        twin = make(env)
        assert isinstance(twin, AtariGame)
        assert isinstance(twin.observation_space, gym.spaces.Box)
        self.observation_space: gym.spaces.Box = twin.observation_space
        self.action_space = twin.action_space
        self.max_episode_steps = twin.max_steps
        twin.close()
        self._pool: Any = None
        self._inside: Any = None

    def reset(self, seed: int) -> Array:
        import envpool

        self.close()
        limit = self.max_episode_steps
        self._pool = envpool.make(
            self._task,
            env_type="gymnasium",
            num_envs=self.num_envs,
            num_threads=min(self.num_envs, available_cpus()),
            seed=seed % LARGEST_SEED,
            stack_num=STACK,
            frame_skip=SKIP,
            noop_max=NOOP_MAX,
            img_height=SIZE,
            img_width=SIZE,
            episodic_life=True,
            reward_clip=True,
            use_fire_reset=True,
            repeat_action_probability=self._stickiness,
            full_action_space=self._has_all_actions,
            **({} if limit is None else {"max_episode_steps": limit}),
        )
        self._totals = np.zeros(self.num_envs)
        self._lengths = np.zeros(self.num_envs, np.int64)
        obs: Array = self._pool.reset()[0]
        self.handle, _, _, self._inside = self._pool.xla()
        return obs

    def step_inside(self, handle: Any, actions: jax.Array) -> tuple[Any, Stepped]:
        handle, (obs, rewards, terminated, truncated, info) = self._inside(handle, actions)
        is_over = info["terminated"].astype(jnp.bool_) | truncated
        return handle, Stepped(
            obs, rewards, terminated, truncated, obs, info["reward"].astype(jnp.float32), is_over
        )

    def episodes(self, points: Array, is_over: Array, is_reset: Array) -> list[Episode]:
        found = []
        for paid, over, reset in zip(points, is_over, is_reset, strict=True):
            self._totals += paid
            self._lengths += ~reset
            for index in (over & ~reset).nonzero()[0].tolist():
                found.append(Episode(index, float(self._totals[index]), int(self._lengths[index])))
                self._totals[index], self._lengths[index] = 0.0, 0
        return found

    def step(self, actions: Array) -> Step:
        """Step from outside, as a dry run does once."""
        obs, rewards, terminated, truncated, _ = self._pool.step(actions.astype(np.int32))
        return Step(obs, rewards, terminated, truncated, obs, ())

    def rebuild(self) -> None:
        """Nothing to do: `reset` builds."""

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None


class HostGames:
    """Any batch of the host, stepped by one call back for all of its games."""

    is_built_anew = False
    resets_in_next_step = False

    def __init__(self, envs: EnvBatch) -> None:
        self._envs = envs
        self._episodes: list[Episode] = []
        rows = envs.num_envs
        obs = jax.ShapeDtypeStruct((rows, *envs.observation_space.shape), jnp.uint8)
        flags = jax.ShapeDtypeStruct((rows,), jnp.bool_)
        rewards = jax.ShapeDtypeStruct((rows,), jnp.float32)
        self._shapes = Stepped(obs, rewards, flags, flags, obs, rewards, flags)
        self.handle: Any = None

    def step_inside(self, handle: Any, actions: jax.Array) -> tuple[Any, Stepped]:
        return handle, io_callback(self._step, self._shapes, actions, ordered=True)

    def _step(self, actions: Any) -> Stepped:
        step = self._envs.step(np.asarray(actions))
        self._episodes += step.episodes
        none = np.zeros(len(step.rewards), np.bool_)
        return Stepped(
            step.obs,
            step.rewards,
            step.terminated,
            step.truncated,
            step.next_obs,
            step.rewards,
            none,
        )

    def episodes(self, points: Array, is_over: Array, is_reset: Array) -> list[Episode]:
        found, self._episodes = self._episodes, []
        return found
