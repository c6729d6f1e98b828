"""Building the environments of a run: the one entrance."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym

from cleanrl_worker.envs.backends import ASYNC, SYNC, build_backend
from cleanrl_worker.envs.normalise import normalised
from cleanrl_worker.envs.registry import PLAYERS, ResolvedEnv, make
from cleanrl_worker.envs.sight import Normalise
from cleanrl_worker.envs.sync import SyncEnvs
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.envs.watched import make_shown, watched
from cleanrl_worker.showing import View
from mosaic.contracts.errors import DependencyMissing


@dataclass(frozen=True, slots=True)
class Normalisation:
    """Normalise observations and rewards, or rewards alone; frozen for an evaluation."""

    gamma: float
    what: Normalise = "all"
    frozen: bool = False


def build_envs(
    env: ResolvedEnv,
    num_envs: int,
    *,
    backend: str = SYNC,
    video_dir: Path | None = None,
    normalise: Normalisation | None = None,
    cpus: int | None = None,
    view: View | None = None,
) -> EnvBatch:
    """Build a batch of environments with a backend that `choose_backend` named.

    The first environment is filmed where a video folder is given, which the sync backend can.
    `cpus` bounds the processes or threads of a backend that has several; None: what there is.
    `view` says which environments are shown while they train.
    """
    if env.family == PLAYERS.name:
        envs: EnvBatch = _build_players(env, num_envs, video_dir, view)
    elif backend == SYNC:
        envs = _build_sync(env, num_envs, video_dir, view)
    elif backend == ASYNC:
        # Each process shows its own: there the environments are.
        from cleanrl_worker.envs.processes import ProcessEnvs

        envs, view = ProcessEnvs(env, num_envs, cpus, view), None
    else:
        assert video_dir is None, f"{backend} cannot film"
        envs = build_backend(backend, env, num_envs, cpus)
    if view is not None:
        envs = watched(envs, view)
    if normalise is None:
        return envs
    return normalised(envs, normalise.what, gamma=normalise.gamma, frozen=normalise.frozen)


def _build_sync(
    env: ResolvedEnv, num_envs: int, video_dir: Path | None, view: View | None
) -> SyncEnvs:
    parts = itertools.count()

    def make_one(index: int) -> gym.Env[Any, Any]:
        if index == 0 and video_dir is not None:
            return _filmed(env, video_dir, next(parts))
        return make_shown(env, index, view)

    return SyncEnvs(make_one, num_envs, env_id=env.id)


def _build_players(
    env: ResolvedEnv, num_envs: int, video_dir: Path | None, view: View | None
) -> EnvBatch:
    from cleanrl_worker.envs.players import PlayerEnvs, PlayersGame

    parts = itertools.count()

    def make_game(index: int) -> gym.Env[Any, Any]:
        if index == 0 and video_dir is not None:
            return _filmed(env, video_dir, next(parts))
        return PlayersGame(env.id, render_mode=None if view is None else "rgb_array")

    return PlayerEnvs(env, num_envs, make_game)


def _filmed(env: ResolvedEnv, video_dir: Path, part: int) -> gym.Env[Any, Any]:
    """Film into the folder; each part of a run, from one cut to the next, numbers its episodes."""
    prefix = "rl-video" if part == 0 else f"rl-video-part-{part}"
    made = make(env, render_mode="rgb_array")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*Overwriting existing videos")
            return gym.wrappers.RecordVideo(made, str(video_dir), name_prefix=prefix)
    except gym.error.DependencyNotInstalled:
        raise DependencyMissing(
            "capture_video=true needs the package 'moviepy', which is not installed.",
            hint="Install it with: pip install 'mosaic-rl[video]'",
        ) from None
