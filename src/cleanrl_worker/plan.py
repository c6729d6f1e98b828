"""What a config asks for, resolved: the algorithm and its exact arguments."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from cleanrl_worker import get_worker_metadata
from cleanrl_worker.arguments import build_arguments, warnings_of
from cleanrl_worker.child import EVALUATOR, LAUNCHER
from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.eval_request import MODE as EVALUATION
from cleanrl_worker.eval_request import (
    evaluation_arguments,
    evaluation_warnings,
    resolve_policy,
)
from cleanrl_worker.not_yet import refuse_what_is_missing
from cleanrl_worker.resume_request import resolve_checkpoint
from mosaic.contracts.schema import AlgorithmSchema, load_schema

# A drawn seed is as short as the ones that people choose from: it is typed again to repeat a run.
_DRAWN_SEEDS = 2**31


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """The algorithm process to be: `config` has its seed.

    `launcher` is the command that the algorithm's name and the arguments are put to, `callable`
    the function of the algorithm's module that it ends in.
    """

    config: CleanRLWorkerConfig
    algorithm: AlgorithmSchema
    arguments: tuple[str, ...]
    warnings: tuple[str, ...]
    launcher: tuple[str, ...] = LAUNCHER
    callable: str = "train"


def plan_launch(config: CleanRLWorkerConfig) -> LaunchPlan:
    """Resolve a config, or refuse it; touches nothing."""
    refuse_what_is_missing({"algo": config.algo, **config.extras, **config.options})
    config = resolve_policy(resolve_checkpoint(config))
    algorithm = load_schema(get_worker_metadata().schema).algorithm(config.algo)
    if config.seed is None:
        config = config.with_seed(secrets.randbelow(_DRAWN_SEEDS))
    warnings = warnings_of(config)
    if config.mode == EVALUATION:
        arguments = evaluation_arguments(config, algorithm)
        warnings += evaluation_warnings(config)
        return LaunchPlan(
            config, algorithm, tuple(arguments), tuple(warnings), EVALUATOR, callable="policy"
        )
    arguments = build_arguments(config, algorithm)
    return LaunchPlan(config, algorithm, tuple(arguments), tuple(warnings))
