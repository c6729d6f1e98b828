"""What a config asks for, resolved: the algorithm and its exact arguments."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from cleanrl_worker import get_worker_metadata
from cleanrl_worker.arguments import build_arguments, warnings_of
from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.not_yet import refuse_what_is_missing
from cleanrl_worker.resume_request import resolve_checkpoint
from mosaic.contracts.schema import AlgorithmSchema, load_schema

# A drawn seed is as short as the ones that people choose from: it is typed again to repeat a run.
_DRAWN_SEEDS = 2**31


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """The algorithm process to be: `config` has its seed."""

    config: CleanRLWorkerConfig
    algorithm: AlgorithmSchema
    arguments: tuple[str, ...]
    warnings: tuple[str, ...]


def plan_launch(config: CleanRLWorkerConfig) -> LaunchPlan:
    """Resolve a config, or refuse it; touches nothing."""
    refuse_what_is_missing({"algo": config.algo, **config.extras, **config.options})
    config = resolve_checkpoint(config)
    algorithm = load_schema(get_worker_metadata().schema).algorithm(config.algo)
    if config.seed is None:
        config = config.with_seed(secrets.randbelow(_DRAWN_SEEDS))
    arguments = build_arguments(config, algorithm)
    return LaunchPlan(config, algorithm, tuple(arguments), tuple(warnings_of(config)))
