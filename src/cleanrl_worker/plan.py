"""What a config asks for, resolved: the algorithm and its exact arguments."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

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
from cleanrl_worker.resume_request import resolve_checkpoint
from cleanrl_worker.teacher_request import resolve_teacher
from mosaic.contracts.bundles import Bundle
from mosaic.contracts.checkouts import is_script
from mosaic.contracts.needs import bundle_of, check_needs
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.schema import AlgorithmSchema, load_schema
from mosaic.contracts.tokens import RUN_TOKEN_VARIABLE
from mosaic.workers.bundle_code import link_code

# A drawn seed is as short as the ones that people choose from: it is typed again to repeat a run.
DRAWN_SEEDS = 2**31


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """The algorithm process to be: `config` has its seed.

    `launcher` is the command that the algorithm's name and the arguments are put to, `callable`
    the function of the algorithm's module that it ends in. `code` are the folders of our code for
    an interpreter that is not ours, that of `bundle`; `packages` are that bundle's.
    """

    config: CleanRLWorkerConfig
    algorithm: AlgorithmSchema
    arguments: tuple[str, ...]
    warnings: tuple[str, ...]
    launcher: tuple[str, ...] = LAUNCHER
    callable: str = "train"
    bundle: Bundle | None = None
    code: tuple[Path, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    dry_run_variables: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] | None = None
    is_script: bool = False  # its file is in the launcher, and its flags are its own

    def command(
        self, launcher: Sequence[str] | None = None, *, is_dry_run: bool = False
    ) -> list[str]:
        """Return the command of the algorithm process, or of its dry run."""
        words = [*(launcher or self.launcher)]
        if not self.is_script:
            words.append(self.config.algo)
        words += self.arguments
        return [*words, "--dry-run"] if is_dry_run and not self.is_script else words


def plan_launch(config: CleanRLWorkerConfig) -> LaunchPlan:
    """Resolve a config, or refuse it; touches nothing."""
    if is_script(config.algo):
        from cleanrl_worker.upstream.script_plan import plan_script

        return plan_script(config)
    return _in_bundle(_plan_recipe(config))


def _plan_recipe(config: CleanRLWorkerConfig) -> LaunchPlan:
    config = resolve_teacher(resolve_policy(resolve_checkpoint(config)))
    algorithm = load_schema(get_worker_metadata().schema).algorithm(config.algo)
    if config.seed is None:
        config = config.with_seed(secrets.randbelow(DRAWN_SEEDS))
    warnings = warnings_of(config) + _unheard(config)
    if config.mode == EVALUATION:
        arguments = evaluation_arguments(config, algorithm)
        warnings += evaluation_warnings(config)
        return LaunchPlan(
            config, algorithm, tuple(arguments), tuple(warnings), EVALUATOR, callable="policy"
        )
    arguments = build_arguments(config, algorithm)
    return LaunchPlan(config, algorithm, tuple(arguments), tuple(warnings))


def _in_bundle(plan: LaunchPlan) -> LaunchPlan:
    """Check that the packages are there, and let the bundle's interpreter run the algorithm."""
    config = plan.config
    bundle = bundle_of(VarPaths.default(), config.algo, config.options)
    check_needs(plan.algorithm, config.env_id, config.options, bundle)
    if bundle is None:
        return plan
    return replace(
        plan,
        launcher=(str(bundle.python), *plan.launcher[1:]),
        bundle=bundle,
        code=(link_code(bundle, "cleanrl_worker"),),
        packages=bundle.packages,
    )


def _unheard(config: CleanRLWorkerConfig) -> list[str]:
    """Return what is asked of the trainer daemon by a run that has none."""
    if not config.options.get("auto_resume") or RUN_TOKEN_VARIABLE in os.environ:
        return []
    return ["auto_resume=true: only the trainer daemon continues a lost run; this one has none."]
