"""Replay buffers in checkpoints: which checkpoints hold one, and what a resume gets of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cleanrl_worker.checkpoint_document import find_checkpoints, read_document
from cleanrl_worker.envs.observations import Array
from cleanrl_worker.replay.archive import ReplayArchive
from mosaic.contracts.errors import ConfigError

if TYPE_CHECKING:
    from cleanrl_worker.checkpoint import Checkpoint

FOLDER = "replay"


class RingBuffer(Protocol):
    """A buffer of ring arrays, which tells the archive whenever its total grows."""

    columns: Mapping[str, Array]
    total: int
    archive: ReplayArchive | None


class SavedReplay:
    """The replay buffer of a run as its checkpoints hold it.

    `policy` is checkpoint_replay: `all` kept checkpoints hold the buffer, the `latest`, or `none`.
    """

    def __init__(self, directory: Path, policy: str) -> None:
        self._directory = directory
        self._policy = policy
        self._buffer: RingBuffer | None = None

    def track(self, buffer: RingBuffer) -> None:
        self._buffer = buffer
        if self._policy != "none":
            buffer.archive = ReplayArchive(self._directory / FOLDER, buffer.columns)

    def attach(self, checkpoint_dir: Path) -> Mapping[str, Any]:
        """Write the buffer's open tail into a checkpoint; return the entry of its document."""
        if self._buffer is None:
            return {}
        archive = self._buffer.archive
        return {"replay": archive.snapshot(checkpoint_dir) if archive is not None else None}

    def collect(self, kept: Sequence[Path]) -> None:
        """Delete the segments that no checkpoint needs any more."""
        if self._buffer is None or self._buffer.archive is None:
            return
        by_age = [path for path in find_checkpoints(self._directory) if path in kept]
        holders = by_age if self._policy == "all" else by_age[-1:]
        snapshots = [read_document(path).get("replay") for path in holders]
        self._buffer.archive.collect(snapshot for snapshot in snapshots if snapshot is not None)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Fill the buffer with a checkpoint's rows; it starts empty where none were saved."""
        snapshot = checkpoint.document.get("replay")
        if self._buffer is None or snapshot is None:
            return
        source = checkpoint.path.parent / FOLDER
        archive = self._buffer.archive
        if archive is None:
            raise ConfigError(
                "checkpoint_replay=none cannot resume from a checkpoint that holds a replay buffer."
            )
        self._buffer.total = archive.resume(source, checkpoint.path, snapshot)

    def close(self) -> None:
        if self._buffer is not None and self._buffer.archive is not None:
            self._buffer.archive.close()
