"""What an exported run consists of: the names in the archive, and what its first file says."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.validation import as_config_error

FORMAT = "mosaic-run"
VERSION = 1

HEADER = "mosaic-run.json"
CONFIG = "config.json"
WORKER_CONFIG = "worker.json"
EVENTS = "events.jsonl"
TELEMETRY = "telemetry.jsonl"  # steps and episodes, of runs that record them
METRICS_CSV = "metrics.csv"
METRICS_PARQUET = "metrics.parquet"
FILES = "files/"  # the run directory

# A point may stand for several that were merged: `count` of them, from `minimum` to `maximum`.
COLUMNS = ("tag", "step", "value", "minimum", "maximum", "count")

_Time = Field(ge=0, lt=1e11, allow_inf_nan=False)


class ExportedRun(BaseModel):
    """A run that has ended, as its own daemon knew it. Times are unix seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    run_id: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    name: str = Field(max_length=256)
    state: Literal["TERMINATED", "FAULTED"]
    outcome: Literal["succeeded", "failed", "cancelled"]
    reason: str = Field(max_length=20_000)
    algo: str = Field(max_length=256)
    env_id: str = Field(max_length=256)
    seed: int | None = Field(ge=0, le=2**32 - 1)
    worker_id: str = Field(max_length=256)
    worker: str = Field(max_length=64)
    mode: str = Field(max_length=64)
    step: int = Field(ge=0, lt=2**62)
    total_timesteps: int | None = Field(ge=0, lt=2**62)
    created_at: float = _Time
    started_at: float | None = _Time
    ended_at: float | None = _Time
    exit_code: int | None = Field(ge=-255, le=255)
    signal: int | None = Field(ge=0, le=64)
    parent_run_id: str | None = Field(max_length=64)
    last_return: float | None
    steps_per_second: float | None
    paused_s: float = Field(ge=0)
    garbage_lines: int = Field(ge=0, lt=2**62)
    last_lines: list[str] = Field(max_length=1000)


class Header(BaseModel):
    """The first file of an archive."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    format: Literal["mosaic-run"]
    version: int = Field(ge=1)
    mosaic_version: str = Field(max_length=64)
    exported_at: float = _Time
    with_checkpoints: bool
    wandb_link: str | None = Field(default=None, max_length=1000)
    # Tags of which the daemon had given up the points, and kept means of ten of them each.
    merged_tags: list[str] = Field(default=[], max_length=100_000)
    run: ExportedRun


def read_header(document: Any) -> Header:
    version = document.get("version") if isinstance(document, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise ConfigError(
            f"The archive has version {version}; this MOSAIC reads up to {VERSION}: update it."
        )
    try:
        return Header.model_validate(document)
    except ValidationError as error:
        told = as_config_error(error, Header)
        raise ConfigError(f"{HEADER}: {told.message}") from None
