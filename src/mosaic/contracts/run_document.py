"""A run config as a plain document, for programs that submit one and leave the checking to others.

The model of the run config needs pydantic, whose import alone takes longer than a submission.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.extras import event_files_folder


def run_document(
    worker_config: Mapping[str, Any],
    capabilities: WorkerCapabilities,
    *,
    environment: Mapping[str, str] | None = None,
    run_mode: str = "train",
) -> dict[str, Any]:
    """Wrap a flat worker config as a submission to the worker with these capabilities."""
    extras = worker_config.get("extras") or {}
    document: dict[str, Any] = {
        "environment": dict(environment or {}),
        "resources": {"memory_mb": capabilities.estimated_memory_mb},
        "metadata": {
            "ui": {
                "worker_id": worker_config.get("worker_id"),
                "agent_id": worker_config.get("agent_id"),
                "run_mode": extras.get("mode", run_mode),
            },
            "worker": {
                "worker_id": worker_config.get("worker_id"),
                "module": capabilities.module,
                "config": dict(worker_config),
            },
            "artifacts": _artifacts_of(extras),
        },
    }
    if extras.get("keep_checkpoints") is not None:
        document["artifacts"] = {"keep_checkpoints": extras["keep_checkpoints"]}
    return document


def _artifacts_of(extras: Mapping[str, Any]) -> dict[str, Any]:
    directory = event_files_folder(extras)
    tensorboard: dict[str, Any] = {"enabled": directory is not None}
    if directory:
        tensorboard["relative_path"] = directory
    return {
        "tensorboard": tensorboard,
        "wandb": {"enabled": bool(extras.get("track_wandb"))},
        "notes": extras.get("notes"),
    }
