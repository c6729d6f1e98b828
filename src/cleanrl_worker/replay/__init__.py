"""Replay buffers: how their rows outlive the process, as segments that checkpoints share."""

from __future__ import annotations

from cleanrl_worker.replay.archive import ReplayArchive
from cleanrl_worker.replay.restoring import restore
from cleanrl_worker.replay.ring import Ring, estimate_disk_mb

__all__ = ["ReplayArchive", "Ring", "estimate_disk_mb", "restore"]
