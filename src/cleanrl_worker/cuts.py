"""Scheduled checkpoints: when they are due, what they hold, which are kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from cleanrl_worker.checkpoint import Checkpoint, prune, write_checkpoint
from cleanrl_worker.replay.saving import RingBuffer, SavedReplay
from mosaic.contracts.errors import ConfigError

# What torch, NumPy and our own parts raise for a state that is not theirs.
MISFITS = (
    RuntimeError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    OverflowError,
)


@runtime_checkable
class Stateful(Protocol):
    """Anything whose state a checkpoint holds: networks, optimisers, normalisers, generators."""

    def state_dict(self) -> Any: ...

    def load_state_dict(self, state: Any) -> Any: ...


def resolve_interval(
    requested: int | None, total_timesteps: int, max_episode_steps: int | None, num_envs: int
) -> int:
    """Return the interval of a run; one that long episodes would never survive is refused.

    Every cut ends the running episodes, so an interval below their length would end all of them.
    """
    bound = 2 * max_episode_steps * num_envs if max_episode_steps else 1
    if requested is None:
        return max(total_timesteps // 10, bound)
    if requested < bound:
        raise ConfigError(
            f"checkpoint_interval={requested} is too short: episodes last up to "
            f"{max_episode_steps} steps in {num_envs} environments. Use at least {bound}."
        )
    return requested


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(
        self,
        directory: Path,
        interval: int,
        keep: int,
        last_step: int,
        replay: SavedReplay | None = None,
    ) -> None:
        self._directory = directory
        self._interval = interval
        self._keep = keep
        self._last_step = last_step
        self._replay = replay
        self._parts: dict[str, Stateful] = {}

    def track(self, parts: Mapping[str, Stateful], buffer: RingBuffer | None = None) -> None:
        self._parts.update(parts)
        if buffer is not None and self._replay is not None:
            self._replay.track(buffer)

    def is_due(self, step: int) -> bool:
        return step // self._interval > self._last_step // self._interval

    def has(self, step: int) -> bool:
        return self._last_step == step

    def save(self, step: int, description: Mapping[str, Any]) -> Path:
        """Write a checkpoint of all tracked parts, then remove those that are no longer kept."""
        self._last_step = step
        state = {name: part.state_dict() for name, part in self._parts.items()}
        attach = self._replay.attach if self._replay is not None else None
        path = write_checkpoint(self._directory, step, description, state, attach)
        kept = prune(self._directory, self._keep)
        if self._replay is not None:
            self._replay.collect(kept)
        return path

    def restore(self, checkpoint: Checkpoint) -> None:
        """Copy a checkpoint's state into the tracked parts."""
        for name, part in self._parts.items():
            if name not in checkpoint.state:
                raise ConfigError(f"Checkpoint {checkpoint.path.name!r} holds no {name!r}.")
            try:
                part.load_state_dict(checkpoint.state[name])
            except MISFITS as error:
                lines = str(error).splitlines() or [type(error).__name__]
                raise ConfigError(
                    f"Checkpoint {checkpoint.path.name!r} does not fit this run: {name}: "
                    f"{lines[-1].strip()}"
                ) from None
        if self._replay is not None:
            self._replay.restore(checkpoint)

    def close(self) -> None:
        if self._replay is not None:
            self._replay.close()
