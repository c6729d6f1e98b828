"""The host's copy of a replay buffer on the device, from which checkpoints are written."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cleanrl_worker.envs.observations import Array
from cleanrl_worker.replay.archive import ReplayArchive


class ReplayMirror:
    """Ring arrays of the same rows: `columns[name]` has one row for each of the ring's places.

    It is brought up to date when a checkpoint is written, and not in between.
    """

    def __init__(self, ring: Mapping[str, Array]) -> None:
        self.columns: Mapping[str, Array] = {
            name: np.zeros(column.shape, column.dtype) for name, column in ring.items()
        }
        self.total = 0  # transitions ever added
        self.archive: ReplayArchive | None = None

    def take(self, ring: Mapping[str, Array], total: int) -> None:
        """Take over the ring's rows, of which so many were ever added."""
        if self.archive is None:
            return
        for name, column in self.columns.items():
            column[...] = ring[name]
        self.total = total
        self.archive.advance(total)
