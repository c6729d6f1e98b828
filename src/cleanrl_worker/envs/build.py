"""Building the environments of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym

from cleanrl_worker.envs.registry import ResolvedEnv, make
from cleanrl_worker.envs.vector import EnvBatch, SyncEnvs
from mosaic.contracts.errors import DependencyMissing


def build_envs(env: ResolvedEnv, num_envs: int, *, video_dir: Path | None = None) -> EnvBatch:
    """Build a batch of environments; the first one is filmed where a video folder is given."""

    def make_one(index: int) -> gym.Env[Any, Any]:
        if index == 0 and video_dir is not None:
            return _filmed(env, video_dir)
        return make(env)

    return SyncEnvs(make_one, num_envs, env_id=env.id)


def _filmed(env: ResolvedEnv, video_dir: Path) -> gym.Env[Any, Any]:
    try:
        return gym.wrappers.RecordVideo(make(env, render_mode="rgb_array"), str(video_dir))
    except gym.error.DependencyNotInstalled:
        raise DependencyMissing(
            "capture_video=true needs the package 'moviepy', which is not installed.",
            hint="Install it with: pip install 'mosaic-rl[video]'",
        ) from None
