"""Which replay buffer fits an environment."""

from __future__ import annotations

from cleanrl_worker.agents.layout import PICTURES
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.replay.buffer import ReplayBuffer
from cleanrl_worker.replay.episodes import EpisodeReplay, EpisodeRows
from cleanrl_worker.replay.frames import FrameReplay
from cleanrl_worker.replay.prioritised import check_window
from cleanrl_worker.replay.ring import IMAGE_BYTE_COST
from cleanrl_worker.replay.sum_tree import SumTree

Replay = ReplayBuffer | FrameReplay


def build_replay(capacity: int, envs: EnvBatch) -> Replay:
    spaces = envs.observation_space, envs.action_space
    if _has_pictures(envs):
        return FrameReplay(capacity, *spaces, envs.num_envs)
    return ReplayBuffer(capacity, *spaces)


def build_episode_rows(capacity: int, envs: EnvBatch) -> EpisodeRows:
    """Return the buffer from which several steps of an episode can be put together."""
    kind = FrameReplay if _has_pictures(envs) else EpisodeReplay
    return kind(capacity, envs.observation_space, envs.action_space, envs.num_envs)


def replay_bytes(capacity: int, envs: EnvBatch, num_envs: int) -> int:
    """Return the memory that the buffer of a run with so many environments takes."""
    spaces = envs.observation_space, envs.action_space
    if _has_pictures(envs):
        return FrameReplay.size_bytes(capacity, *spaces, num_envs)
    return ReplayBuffer.size_bytes(capacity, *spaces)


def prioritised_bytes(capacity: int, envs: EnvBatch, num_envs: int, n_step: int) -> int:
    """Return the memory of episode rows and their priorities; refuse too few rows for a window."""
    spaces = envs.observation_space, envs.action_space
    if _has_pictures(envs):
        check_window(capacity, num_envs, n_step, reach=envs.observation_space.shape[0] - 1)
        rows_bytes = FrameReplay.size_bytes(capacity, *spaces, num_envs)
    else:
        check_window(capacity, num_envs, n_step, reach=EpisodeReplay.reach)
        rows_bytes = EpisodeReplay.size_bytes(capacity, *spaces)
    return rows_bytes + SumTree.size_bytes(capacity)


def replay_disk_bytes(capacity: int, rows: int, envs: EnvBatch, num_envs: int) -> int:
    """Estimate what checkpoints keep of a buffer that so many rows go into. Rather too high.

    Pictures are taken to compress as the worst of Atari games do, everything else not at all.
    """
    rows = min(rows, capacity)
    row_bytes = replay_bytes(capacity, envs, num_envs) / capacity
    if _has_pictures(envs):
        row_bytes *= IMAGE_BYTE_COST
    return round(rows * row_bytes)


def _has_pictures(envs: EnvBatch) -> bool:
    return envs.observation_space.shape == PICTURES
