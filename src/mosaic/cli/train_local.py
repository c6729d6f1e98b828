"""Train without a daemon: one worker after the other, as a child of this process."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from mosaic.cli.displays import choose_display
from mosaic.cli.dry_run import dry_run, summary_lines
from mosaic.cli.local_run import run_worker, worker_command
from mosaic.cli.progress import Progress
from mosaic.cli.result import Result, report, series_lines
from mosaic.contracts.allowed import check_allowed
from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.errors import EXIT_FAILED, EXIT_OK
from mosaic.contracts.identifiers import new_run_id
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.run_config import RunConfig, run_config_for
from mosaic.contracts.run_files import RunFiles, write_run_files
from mosaic.contracts.secrets import take_secrets
from mosaic.contracts.settings import load_settings
from mosaic.contracts.train_request import TrainRequest


def train_locally(
    request: TrainRequest, worker: WorkerCapabilities, workers: Sequence[WorkerCapabilities]
) -> list[Result]:
    """Train every seed; a refusal or a stop ends the series, a failure does not."""
    results = []
    for seed in request.seeds:
        result = _train_one(request, worker, workers, seed)
        results.append(result)
        request = dataclasses.replace(request, validate=False)  # the seed changes nothing in it
        if result.return_code not in (EXIT_OK, EXIT_FAILED):
            break
    if len(results) > 1 and not request.json:
        title = f"{request.algorithm.name} on {request.env_id}"
        seeds = zip(request.seeds, results, strict=False)
        print("\n".join(series_lines(title, list(seeds))))
    return results


def _train_one(
    request: TrainRequest,
    worker: WorkerCapabilities,
    workers: Sequence[WorkerCapabilities],
    seed: int | None,
) -> Result:
    paths = VarPaths.default()
    config = {"run_id": new_run_id(), **request.worker_config(seed)}
    run_config = run_config_for(config, worker)
    check_allowed(run_config, workers, load_settings(paths.settings))
    files = write_run_files(paths, run_config.to_json(), config)
    try:
        result = _run(request, run_config, config, files)
    finally:
        # A run that was refused, or never began, has no directory: then nothing is left behind.
        if not paths.run(config["run_id"], _mode(config)).root.exists():
            files.remove()
    report(result, as_json=request.json)
    return result


def _run(
    request: TrainRequest, run_config: RunConfig, config: Mapping[str, Any], files: RunFiles
) -> Result:
    paths = VarPaths.default()
    run_paths = paths.run(config["run_id"], _mode(config))
    environment = _environment(run_config, config, paths)
    module = run_config.metadata.worker.module
    progress = Progress(f"{request.algorithm.name} on {request.env_id}", request.total_timesteps)
    command = worker_command(module, files.worker_config)
    if request.validate:
        checked, summary = dry_run(command, environment)
        if checked.return_code != EXIT_OK:
            return Result(run_paths, checked, progress)
        if not request.json:
            print("\n".join(summary_lines(summary)))
    with choose_display(progress, is_silent=request.json) as display:
        run = run_worker(command, environment, progress, display)
    return Result(run_paths, run, progress)


def _mode(config: Mapping[str, Any]) -> str:
    return config["extras"].get("mode") or "train"


def _environment(
    run_config: RunConfig, config: Mapping[str, Any], paths: VarPaths
) -> dict[str, str]:
    """Return the variables of the worker: the run's, its secrets, and where its data goes."""
    _, secrets = take_secrets(config["extras"])
    return {
        **run_config.environment,
        **secrets,
        "MOSAIC_RUN_ID": config["run_id"],
        "MOSAIC_VAR_DIR": str(paths.root),
    }
