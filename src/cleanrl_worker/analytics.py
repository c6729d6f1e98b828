"""What the manifest of a CleanRL run says, found by looking at the run directory."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from cleanrl_worker.arguments import tensorboard_dir
from cleanrl_worker.config import CleanRLWorkerConfig
from mosaic.contracts.events import finite
from mosaic.contracts.files import write_json_whole
from mosaic.contracts.manifest import (
    Artifacts,
    Checkpoints,
    Manifest,
    Metrics,
    OptunaStudy,
    Policy,
    Requirements,
    Resources,
    RunStatus,
    TensorBoardFiles,
    Videos,
    WandbRun,
)
from mosaic.contracts.paths import RunPaths

WORKER_TYPE = "cleanrl"

# Packages on whose version a result depends.
_PACKAGES = (
    "mosaic-rl",
    "torch",
    "numpy",
    "gymnasium",
    "ale-py",
    "box2d",
    "dm-control",
    "envpool",
    "flax",
    "jax",
    "minigrid",
    "mujoco",
    "opencv-python-headless",
    "optax",
    "pettingzoo",
    "shimmy",
    "supersuit",
)
_CHECKPOINT = re.compile(r"step-(\d+)\.ckpt")


def installed_packages() -> dict[str, str]:
    versions: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


class RunManifest:
    """The manifest of one run: drawn up as things stand, and written."""

    def __init__(self, config: CleanRLWorkerConfig, paths: RunPaths) -> None:
        self._config = config
        self._paths = paths
        self._packages = installed_packages()

    def save(self, document: Mapping[str, Any]) -> None:
        """Write the manifest; an OSError is the caller's."""
        write_json_whole(self._paths.manifest, document)

    def document(
        self,
        status: RunStatus,
        *,
        final_values: Mapping[str, float] | None = None,
        peak_rss_mb: float | None = None,
        peak_gpu_mb: float | None = None,
        steps_per_second: float | None = None,
    ) -> dict[str, Any]:
        """Return the manifest as things stand."""
        config = self._config
        reserved = None if config.reservation is None else dataclasses.asdict(config.reservation)
        manifest = Manifest(
            run_id=config.run_id,
            worker_type=WORKER_TYPE,
            algo=config.algo,
            env_id=config.env_id,
            seed=config.seed,
            mode=config.mode,
            status=status,
            artifacts=_artifacts(config, self._paths),
            metrics=Metrics(finite(final_values or {})),
            resources=Resources(reserved, peak_rss_mb, peak_gpu_mb, steps_per_second),
            requirements=Requirements(packages=self._packages),
            notes=config.options.get("notes"),
        )
        return manifest.to_json()


def _artifacts(config: CleanRLWorkerConfig, paths: RunPaths) -> Artifacts:
    options = config.options
    event_files = tensorboard_dir(options)
    return Artifacts(
        tensorboard=TensorBoardFiles(event_files is not None, event_files),
        wandb=WandbRun(run_path=options.get("wandb_run_path")),
        optuna=OptunaStudy(db_path=options.get("optuna_db")),
        checkpoints=find_checkpoints(paths, options.get("checkpoints_dir")),
        policy=Policy(find_policy(paths)),
        videos=find_videos(paths),
        logs={
            "stdout": paths.relative(paths.stdout_log),
            "stderr": paths.relative(paths.stderr_log),
        },
    )


def find_checkpoints(paths: RunPaths, directory: str | None = None) -> Checkpoints:
    """Return the scheduled checkpoints, by step."""
    steps = sorted(
        (int(match[1]), path)
        for path in _children(paths.checkpoints)
        if (match := _CHECKPOINT.fullmatch(path.name))
    )
    files = tuple(paths.relative(path) for _, path in steps)
    return Checkpoints(
        directory=directory or paths.relative(paths.checkpoints),
        latest=files[-1] if files else None,
        best=_best([path for _, path in steps], paths),
        files=files,
    )


def _best(checkpoints: Sequence[Path], paths: RunPaths) -> str | None:
    """Return the kept checkpoint whose episodes before it had the highest mean return."""
    scores = {path: score for path in checkpoints if (score := _mean_return(path)) is not None}
    return paths.relative(max(scores, key=scores.__getitem__)) if scores else None


def _mean_return(checkpoint: Path) -> float | None:
    try:
        score = json.loads((checkpoint / "checkpoint.json").read_text())["mean_return"]
    except (OSError, ValueError, KeyError):  # it may be of another version, or on its way out
        return None
    return score if isinstance(score, int | float) and math.isfinite(score) else None


def find_policy(paths: RunPaths) -> str | None:
    """Return the newest saved model."""
    models = list(paths.models.glob("*/*.cleanrl_model"))
    newest = max(models, key=lambda path: path.stat().st_mtime_ns, default=None)
    return None if newest is None else paths.relative(newest)


def find_videos(paths: RunPaths) -> Videos:
    files = sorted(paths.relative(path) for path in paths.videos.rglob("*.mp4"))
    return Videos(paths.relative(paths.videos), tuple(files))


def _children(directory: Path) -> list[Path]:
    return list(directory.iterdir()) if directory.is_dir() else []
