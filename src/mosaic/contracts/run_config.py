"""The run config: what a form or `mosaic` submits, as one model."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError, model_validator

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.field_types import Environment, Name, RelativePath, Whole, is_name
from mosaic.contracts.identifiers import file_name, new_run_id
from mosaic.contracts.run_document import run_document
from mosaic.contracts.secrets import redact
from mosaic.contracts.validation import as_config_error

DEFAULT_MEMORY_MB = 512
DEFAULT_GRPC_TARGET = "127.0.0.1:50055"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Gpus(_Part):
    requested: Whole = Field(default=0, ge=0)
    """GPUs to reserve, as far as the machine has them."""
    mandatory: StrictBool = False
    """Refuse the run where the machine has fewer, instead of running it without."""


class Resources(_Part):
    cpus: Whole = Field(default=1, ge=1)
    """CPU cores to reserve."""
    memory_mb: Whole = Field(default=DEFAULT_MEMORY_MB, ge=1)
    """Memory to reserve; where absent, the estimate of the worker."""
    gpus: Gpus = Gpus()


class ArtifactPolicy(_Part):
    output_prefix: RelativePath | None = None
    """Folder of the run's outputs, relative to the data directory; filled when absent."""
    persist_logs: StrictBool = True
    """Keep the logs after the run."""
    keep_checkpoints: Whole = Field(default=3, ge=1)
    """How many scheduled checkpoints are kept."""


class Schedule(_Part):
    max_duration_seconds: float | None = Field(default=None, gt=0)
    """Stop the run after this time."""
    max_steps: Whole | None = Field(default=None, gt=0)
    """Stop the run after so many environment steps."""


class UiMetadata(BaseModel):
    """What the form that submitted the run wants to find again; further keys are its own."""

    model_config = ConfigDict(extra="allow", frozen=True, use_attribute_docstrings=True)

    worker_id: str | None = None
    agent_id: str | None = None
    run_mode: str | None = None
    eval_batch_size: Whole | None = Field(default=None, ge=1)
    eval_repeat: StrictBool | None = None


class WorkerMetadata(_Part):
    worker_id: str | None = None
    """Name of the worker process; made from the run id when absent."""
    module: str
    """Module that is run: that of a discovered worker."""
    arguments: tuple[str, ...] = ()
    """Switches of the worker's command line that the config has no key for."""
    use_grpc: StrictBool = False
    """Let the worker register itself with the daemon."""
    grpc_target: str = Field(default=DEFAULT_GRPC_TARGET, pattern=r"^[A-Za-z0-9.\-\[\]:]+:\d{1,5}$")
    """Address of the daemon."""
    config: dict[str, Any]
    """The worker config: run_id, algo, env_id, total_timesteps, seed, extras."""


class TensorboardArtifact(_Part):
    enabled: StrictBool = True
    relative_path: RelativePath = "tensorboard"


class WandbArtifact(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    enabled: StrictBool = False
    run_path: str | None = None


class ArtifactsMetadata(_Part):
    tensorboard: TensorboardArtifact = TensorboardArtifact()
    wandb: WandbArtifact = WandbArtifact()
    notes: str | None = None


class Metadata(_Part):
    ui: UiMetadata = UiMetadata()
    worker: WorkerMetadata
    artifacts: ArtifactsMetadata = ArtifactsMetadata()


class RunConfig(_Part):
    """Everything but `metadata.worker` may be omitted, and is filled."""

    run_name: Name = ""
    """Name that people see; unique when absent."""
    entry_point: str = Field(default_factory=lambda: sys.executable, min_length=1)
    """The interpreter that runs the worker; "python" means MOSAIC's own."""
    arguments: tuple[str, ...] = ()
    """Empty, or "-m" and the worker's module."""
    environment: Environment = {}
    """Environment variables of the run, from a list of allowed names."""
    resources: Resources = Resources()
    artifacts: ArtifactPolicy = ArtifactPolicy()
    schedule: Schedule | None = None
    idempotency_key: str | None = Field(default=None, min_length=1, max_length=128)
    """Two submissions with the same key are one run."""
    metadata: Metadata

    @model_validator(mode="before")
    @classmethod
    def _fill_names(cls, document: Any) -> Any:
        if not isinstance(document, Mapping):
            return document
        filled = dict(document)
        if filled.get("run_name") in (None, ""):
            filled["run_name"] = _unique_name(document)
        name, artifacts = filled["run_name"], filled.get("artifacts", {})
        if isinstance(artifacts, Mapping) and is_name(name):
            filled["artifacts"] = {"output_prefix": f"runs/{name}"} | _given(artifacts)
        return filled

    def to_json(self) -> dict[str, Any]:
        """Return the document as it may be stored: every secret replaced."""
        return dict(redact(self.model_dump(mode="json")))


def parse_run_config(document: Any) -> RunConfig:
    """Read a run config; everything wrong with it is told in one line."""
    try:
        return RunConfig.model_validate(document)
    except ValidationError as error:
        raise as_config_error(error, RunConfig) from None


def run_config_for(
    worker_config: Mapping[str, Any],
    capabilities: WorkerCapabilities,
    *,
    environment: Mapping[str, str] | None = None,
    run_mode: str = "train",
) -> RunConfig:
    """Wrap a flat worker config as a submission to the worker with these capabilities."""
    document = run_document(worker_config, capabilities, environment=environment, run_mode=run_mode)
    return parse_run_config(document)


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _unique_name(document: Mapping[str, Any]) -> str:
    """Return `<algo>-<env>-<ulid>`; the ULID tells two submissions of one millisecond apart."""
    config: Any = document
    for level in ("metadata", "worker", "config"):
        config = config.get(level) if isinstance(config, Mapping) else None
    words = [config.get("algo"), config.get("env_id")] if isinstance(config, Mapping) else []
    parts = [file_name(word)[:40] for word in words if isinstance(word, str) and word]
    return "-".join([*(parts or ["run"]), new_run_id()])
