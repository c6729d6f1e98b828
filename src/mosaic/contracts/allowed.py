"""What a submission may ask for: nothing in it can run a program of the submitter's choice."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.errors import NotAllowed, suggest
from mosaic.contracts.run_config import RunConfig, WorkerMetadata
from mosaic.contracts.settings import OperatorSettings, check_checkout, check_env_id

# All mean the interpreter that MOSAIC itself runs on; none is looked up on the path.
OWN_INTERPRETER = ("python", "python3", sys.executable)

# Everything else that the worker's command line takes is a key of the config, and checked there.
WORKER_SWITCHES = ("--dry-run", "--emit-summary", "--grpc", "-v")


def check_allowed(
    run_config: RunConfig, workers: Iterable[WorkerCapabilities], settings: OperatorSettings
) -> None:
    """Refuse what neither a discovered worker nor the operator's settings allow."""
    worker = run_config.metadata.worker
    _check_program(run_config, worker, [found.module for found in workers])
    _check_switches(worker)
    for env_id in _env_ids(worker.config):
        check_env_id(env_id, settings)
    extras = worker.config.get("extras")
    if isinstance(extras, Mapping):
        check_checkout(extras.get("cleanrl_home"), settings)


def _check_program(run_config: RunConfig, worker: WorkerMetadata, modules: list[str]) -> None:
    if worker.module not in modules:
        raise NotAllowed(
            f"metadata.worker.module={worker.module!r} is not the module of a discovered worker: "
            f"give one of {', '.join(modules) or 'none'}.{suggest(worker.module, modules)}",
            hint="'mosaic workers' lists them.",
        )
    if run_config.entry_point not in OWN_INTERPRETER:
        raise NotAllowed(
            f"entry_point={run_config.entry_point!r} is not allowed: "
            "give 'python', which is MOSAIC's own interpreter, or leave it out."
        )
    if run_config.arguments not in ((), ("-m", worker.module)):
        raise NotAllowed(
            f"arguments={list(run_config.arguments)!r} is not allowed: "
            f"leave it out, or give ['-m', {worker.module!r}]."
        )


def _check_switches(worker: WorkerMetadata) -> None:
    for index, argument in enumerate(worker.arguments):
        if argument not in WORKER_SWITCHES:
            raise NotAllowed(
                f"metadata.worker.arguments[{index}]={argument!r} is not allowed: "
                f"give one of {', '.join(WORKER_SWITCHES)}; the rest belongs in the config."
            )


def _env_ids(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the environment of the run, and those of its curriculum."""
    if isinstance(env_id := config.get("env_id"), str):
        yield env_id
    extras = config.get("extras")
    stages = extras.get("curriculum_schedule") if isinstance(extras, Mapping) else None
    automatic = extras.get("curriculum") if isinstance(extras, Mapping) else None
    tasks = automatic.get("tasks") if isinstance(automatic, Mapping) else None
    for task in tasks if isinstance(tasks, list) else ():
        if isinstance(task, str):
            yield task
    for stage in stages if isinstance(stages, list) else ():
        if isinstance(stage, Mapping) and isinstance(env_id := stage.get("env_id"), str):
            yield env_id
