"""What the manifest of a CleanRL run says, found by looking at the run directory."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from cleanrl_worker.arguments import tensorboard_dir
from cleanrl_worker.checkpoint_document import find_checkpoints as checkpoints_under
from cleanrl_worker.checkpoint_document import read_document
from cleanrl_worker.config import CleanRLWorkerConfig
from mosaic.contracts.curriculum import parse_schedule
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.events import finite
from mosaic.contracts.files import write_json_whole
from mosaic.contracts.manifest import (
    Artifacts,
    Checkpoints,
    Lineage,
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
from mosaic.contracts.wandb_files import find_wandb_file, read_identity

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


def packages_in_use(of_bundle: Mapping[str, str] | None) -> dict[str, str]:
    """Return the versions that a result depends on: of a bundle, or of what is installed here."""
    if of_bundle is None:
        return installed_packages()
    return {name: of_bundle[name] for name in ("cleanrl", *_PACKAGES) if name in of_bundle}


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

    def __init__(
        self,
        config: CleanRLWorkerConfig,
        paths: RunPaths,
        *,
        bundle: str | None = None,
        packages: Mapping[str, str] | None = None,
    ) -> None:
        self._config = config
        self._paths = paths
        self._requirements = Requirements(bundle, packages_in_use(packages))
        self._lineage = Lineage()
        self._switches: list[Mapping[str, Any]] = []

    def came_from(self, loaded: Mapping[str, Any]) -> None:
        """Note the checkpoint, or the weights, that the run goes on from."""
        path = _portable(Path(loaded["path"]), self._paths)
        self._lineage = Lineage(loaded.get("parent_run_id"), path, loaded.get("exact"))

    def stage_changed(self, switch: Mapping[str, Any]) -> None:
        """Note where a stage of the curriculum began."""
        self._switches.append(dict(switch))

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
            requirements=self._requirements,
            lineage=self._lineage,
            curriculum=self._curriculum(),
            notes=config.options.get("notes"),
        )
        return manifest.to_json()

    def _curriculum(self) -> dict[str, Any] | None:
        options = self._config.options
        if options.get("curriculum_schedule") is not None:
            stages = parse_schedule(options["curriculum_schedule"])
            return {
                "stages": [stage.to_json() for stage in stages],
                "switches": self._switches,
            }
        return options.get("curriculum")


def _artifacts(config: CleanRLWorkerConfig, paths: RunPaths) -> Artifacts:
    options = config.options
    event_files = tensorboard_dir(options)
    return Artifacts(
        tensorboard=TensorBoardFiles(event_files is not None, event_files),
        wandb=find_wandb(config, paths),
        optuna=_study(options.get("optuna_db"), paths),
        checkpoints=find_checkpoints(paths, options.get("checkpoints_dir")),
        policy=Policy(_evaluated_policy(config, paths) or find_policy(paths)),
        videos=find_videos(paths),
        logs={
            "stdout": paths.relative(paths.stdout_log),
            "stderr": paths.relative(paths.stderr_log),
        },
    )


def find_wandb(config: CleanRLWorkerConfig, paths: RunPaths) -> WandbRun:
    """Return the W&B run, as its own files name it, offline runs included."""
    options = config.options
    enabled = bool(options.get("track_wandb")) and config.mode != "policy_eval"
    file = find_wandb_file(paths.wandb)
    if file is None:
        return WandbRun(enabled=enabled, run_path=options.get("wandb_run_path"))
    log = read_identity(file)
    return WandbRun(
        enabled=enabled,
        run_path=log.run_path,
        run_id=log.run_id or None,
        entity=log.entity or None,
        project=log.project or None,
        mode="offline" if log.is_offline else "online",
        relative_path=paths.relative(file.parent),
    )


def _study(database: str | None, paths: RunPaths) -> OptunaStudy:
    """Return the study that the run is a trial of; a sweep's directory has its name."""
    if not database:
        return OptunaStudy()
    return OptunaStudy(_portable(Path(database), paths), Path(database).parent.name or None)


def _evaluated_policy(config: CleanRLWorkerConfig, paths: RunPaths) -> str | None:
    path = config.options.get("policy_path")
    return _portable(Path(path), paths) if path else None


def _portable(path: Path, paths: RunPaths) -> str:
    """Return a path that stays true when the data directory is moved, where it lies in that."""
    if path.is_relative_to(paths.trainer):
        path = Path(os.path.relpath(path, paths.root))
    return path.as_posix()


def find_checkpoints(paths: RunPaths, directory: str | None = None) -> Checkpoints:
    """Return the checkpoints by step; latest and best are exact ones, an extra one is listed."""
    documents = _read_documents(checkpoints_under(paths.checkpoints))
    exact = [path for path, document in documents.items() if document["exact"]]
    scores = {path: score for path in exact if (score := _mean_return(documents[path])) is not None}
    best = max(scores, key=scores.__getitem__, default=None)
    return Checkpoints(
        directory=directory or paths.relative(paths.checkpoints),
        latest=paths.relative(exact[-1]) if exact else None,
        best=None if best is None else paths.relative(best),
        files=tuple(paths.relative(path) for path in documents),
    )


def _read_documents(checkpoints: Iterable[Path]) -> dict[Path, dict[str, Any]]:
    documents: dict[Path, dict[str, Any]] = {}
    for path in checkpoints:
        with contextlib.suppress(ConfigError):  # damaged by somebody, or on its way out
            documents[path] = read_document(path)
    return documents


def _mean_return(document: Mapping[str, Any]) -> float | None:
    score = document.get("mean_return")
    return score if isinstance(score, int | float) and math.isfinite(score) else None


def find_policy(paths: RunPaths) -> str | None:
    """Return the newest saved model."""
    models = list(paths.models.glob("*/*.cleanrl_model"))
    newest = max(models, key=lambda path: path.stat().st_mtime_ns, default=None)
    return None if newest is None else paths.relative(newest)


def find_videos(paths: RunPaths) -> Videos:
    files = sorted(paths.relative(path) for path in paths.videos.rglob("*.mp4"))
    return Videos(paths.relative(paths.videos), tuple(files))
