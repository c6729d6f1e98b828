"""Training as a rank other than 0: with its share of the environments, in step with the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from cleanrl_worker.channel import Channel
from cleanrl_worker.cuts import Checkpoints
from cleanrl_worker.preparation import Prepared, prepare
from cleanrl_worker.ranks.group import Group, join_group, leave_group
from cleanrl_worker.ranks.placing import pick_backend
from cleanrl_worker.recording import Run


class PeerLost(Exception):
    """Another rank is gone; rank 0 says which one, and why."""


class FollowedCheckpoints(Checkpoints):
    """Those that rank 0 writes: this rank cuts where it does, and hands over states of its own."""

    def save(self, step: int, description: Mapping[str, Any]) -> Path:
        self._last_step = step
        for part in self._parts.values():
            part.state_dict()
        return self._directory


def train_rank(
    rank: int,
    meeting_place: Path,
    name: str,
    flags: Sequence[str],
    say_ready: Callable[[Prepared], None],
) -> None:
    """Prepare as rank 0 did, meet the others, and train with them to the end."""
    prepared = prepare(name, flags, rank=rank)
    config, device = prepared.config, prepared.device
    assert isinstance(device, torch.device), "there is no group in JAX"
    say_ready(prepared)
    group = join_group(
        meeting_place,
        rank=rank,
        size=config.world_size,
        backend=pick_backend(config.backend, device, config.world_size, config.device_ids),
        device=device,
        explain=lambda error: PeerLost(str(error)),
    )
    run = _open_run(prepared, group)
    prepared.algorithm.train(run, config, prepared.envs, prepared.agent, device)
    if not run.should_stop:
        run.finish(prepared.envs)
    prepared.envs.close()
    leave_group()


def _open_run(prepared: Prepared, group: Group) -> Run:
    options = prepared.options
    checkpoint = prepared.origin.checkpoint if prepared.origin is not None else None
    assert options.checkpoint_interval is not None, "prepare resolves it"
    return Run(
        total_timesteps=options.total_timesteps,
        seed=options.seed,
        channel=Channel(None),
        checkpoints=FollowedCheckpoints(
            Path(),
            options.checkpoint_interval,
            options.keep_checkpoints,
            last_step=checkpoint.step if checkpoint is not None else 0,
        ),
        resume_from=checkpoint,
        compiled=prepared.compiler,
        group=group,
    )
