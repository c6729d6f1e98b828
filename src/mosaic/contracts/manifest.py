"""The manifest of a run: `analytics.json`, there from the first second.

Every key is always present; what is not known is null. Paths are relative to the run directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

MANIFEST_VERSION = 1


class RunStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class TensorBoardFiles:
    enabled: bool = False
    relative_path: str | None = None


@dataclass(frozen=True, slots=True)
class WandbRun:
    enabled: bool = False
    run_path: str | None = None
    run_id: str | None = None
    entity: str | None = None
    project: str | None = None
    mode: str | None = None
    relative_path: str | None = None


@dataclass(frozen=True, slots=True)
class OptunaStudy:
    db_path: str | None = None
    study_name: str | None = None


@dataclass(frozen=True, slots=True)
class Checkpoints:
    directory: str | None = None
    latest: str | None = None
    best: str | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Videos:
    directory: str | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Artifacts:
    tensorboard: TensorBoardFiles = TensorBoardFiles()
    wandb: WandbRun = WandbRun()
    optuna: OptunaStudy = OptunaStudy()
    checkpoints: Checkpoints = Checkpoints()
    policy: Policy = Policy()
    videos: Videos = Videos()
    logs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Metrics:
    final: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Resources:
    reserved: Mapping[str, int | None] | None = None
    peak_rss_mb: float | None = None
    peak_gpu_mb: float | None = None
    steps_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class Requirements:
    bundle: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lineage:
    parent_run_id: str | None = None
    checkpoint_path: str | None = None
    exact: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    run_id: str
    worker_type: str
    algo: str
    env_id: str
    seed: int | None
    mode: str
    status: RunStatus
    artifacts: Artifacts = Artifacts()
    metrics: Metrics = Metrics()
    resources: Resources = Resources()
    requirements: Requirements = Requirements()
    lineage: Lineage = Lineage()
    curriculum: Mapping[str, Any] | None = None  # stages or tasks, and the switches so far
    notes: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the document, with the flat keys that readers of the first version look for."""
        artifacts = self.artifacts
        return {
            "schema_version": MANIFEST_VERSION,
            **asdict(self),
            "status": str(self.status),
            "tensorboard_dir": artifacts.tensorboard.relative_path,
            "wandb_run_path": artifacts.wandb.run_path,
            "wandb_run_id": artifacts.wandb.run_id,
            "optuna_db_path": artifacts.optuna.db_path,
            "checkpoints_dir": artifacts.checkpoints.directory,
            "checkpoints": list(artifacts.checkpoints.files),
        }
