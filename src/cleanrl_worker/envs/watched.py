"""Environments that can be watched while they train: the fast lane's end in the run.

Whether to draw is decided before anything is drawn. What is not shown costs one look at the clock
a step; with the lane off there is no wrapper at all.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import gymnasium as gym

from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.pictures import prepare_renderer, render_options
from cleanrl_worker.envs.registry import ResolvedEnv, make
from cleanrl_worker.envs.vector import EnvBatch, Step
from cleanrl_worker.showing import Show, View
from mosaic.fastlane.lane_set import LaneSet


@runtime_checkable
class Showable(Protocol):
    """A batch whose environments can draw themselves."""

    def picture(self, index: int, max_dim: int) -> Array: ...


def make_shown(env: ResolvedEnv, index: int, view: View | None) -> gym.Env[Any, Any]:
    """Make one environment of a batch, able to draw itself if it is one of those shown."""
    if view is None or index not in view.shown:
        return make(env)
    made = make(env, **render_options(env, view.settings.max_dim))
    prepare_renderer(made, view.settings.max_dim)
    return made


def watched(envs: EnvBatch, view: View) -> EnvBatch:
    """Return the batch with its lanes, or, where it cannot draw, say so in the lanes' status."""
    assert not isinstance(envs, WatchedEnvs), "a batch is wrapped once"
    lanes = LaneSet.join(view.directory)
    if not isinstance(envs, Showable):
        lanes.set_status("no_renderer", f"{type(envs).__name__} cannot draw its environments")
        return envs
    return WatchedEnvs(envs, lanes, view)


class WatchedEnvs:
    """A batch that writes pictures of itself into its lanes."""

    def __init__(self, envs: EnvBatch, lanes: LaneSet, view: View) -> None:
        assert isinstance(envs, Showable)
        self._envs = envs
        self._step_inner = envs.step
        self.num_envs = envs.num_envs
        self.observation_space = envs.observation_space
        self.action_space = envs.action_space
        self.max_episode_steps = envs.max_episode_steps
        self._show = Show(lanes, view, envs.num_envs, envs.picture)
        self._count = self._show.stepped

    def reset(self, seed: int) -> Array:
        return self._envs.reset(seed)

    def step(self, actions: Array) -> Step:
        step = self._step_inner(actions)
        for episode in step.episodes:
            self._show.ended(episode.env, episode.total_reward)
        self._count(step.rewards)
        return step

    def rebuild(self) -> None:
        self._envs.rebuild()

    def close(self) -> None:
        self._envs.close()
        self._show.close()
