"""Which replay buffer fits an environment."""

from __future__ import annotations

from cleanrl_worker.agents.nature import PICTURES
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.replay.buffer import ReplayBuffer
from cleanrl_worker.replay.frames import FrameReplay

Replay = ReplayBuffer | FrameReplay


def build_replay(capacity: int, envs: EnvBatch) -> Replay:
    spaces = envs.observation_space, envs.action_space
    if _has_pictures(envs):
        return FrameReplay(capacity, *spaces, envs.num_envs)
    return ReplayBuffer(capacity, *spaces)


def replay_bytes(capacity: int, envs: EnvBatch, num_envs: int) -> int:
    """Return the memory that the buffer of a run with so many environments takes."""
    spaces = envs.observation_space, envs.action_space
    if _has_pictures(envs):
        return FrameReplay.size_bytes(capacity, *spaces, num_envs)
    return ReplayBuffer.size_bytes(capacity, *spaces)


def _has_pictures(envs: EnvBatch) -> bool:
    return envs.observation_space.shape == PICTURES
