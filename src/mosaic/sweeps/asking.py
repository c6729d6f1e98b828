"""Optuna's half: which settings come next, and which trials are not worth going on with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mosaic.contracts.errors import DependencyMissing
from mosaic.contracts.paths import SweepPaths
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.contracts.search import SearchRange
from mosaic.sweeps.request import SweepRequest

if TYPE_CHECKING:
    import optuna

# A run is judged this many times, over equal parts of its steps.
PARTS = 10
# Trials that are never pruned, so that there is something to compare with; and parts before which
# none is, since nothing has learned by then.
_FIRST_TRIALS = 4
_FIRST_PARTS = 2


def open_study(
    request: SweepRequest, paths: SweepPaths, algorithm: AlgorithmSchema
) -> optuna.Study:
    """Open the sweep's study, or make it, with the algorithm's defaults as its first trial."""
    try:
        import optuna
    except ImportError:
        raise DependencyMissing(
            "A sweep needs Optuna, which is not installed.", hint="Install 'mosaic-rl[optuna]'."
        ) from None

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    is_new = not paths.database.exists()
    study = optuna.create_study(
        study_name=request.study,
        storage=f"sqlite:///{paths.database}",
        direction=optuna.study.StudyDirection[request.direction.upper()],
        sampler=_sampler(request),
        pruner=_pruner(request),
        load_if_exists=True,
    )
    if is_new and request.defaults_first:
        study.enqueue_trial(_defaults(request, algorithm))
    return study


def suggest(
    trial: optuna.Trial, space: tuple[SearchRange, ...], algorithm: AlgorithmSchema
) -> dict[str, Any]:
    """Return the values of one trial."""
    kinds = {field.name: field.type for field in algorithm.fields}
    return {row.name: _suggest(trial, row, kinds[row.name]) for row in space}


def _suggest(trial: optuna.Trial, row: SearchRange, kind: str) -> Any:
    if row.choices:
        return trial.suggest_categorical(row.name, row.choices)
    assert row.low is not None
    assert row.high is not None
    if kind == "int":
        return trial.suggest_int(row.name, int(row.low), int(row.high), log=row.is_log)
    return trial.suggest_float(row.name, row.low, row.high, log=row.is_log)


def _defaults(request: SweepRequest, algorithm: AlgorithmSchema) -> dict[str, Any]:
    """Return the defaults, as far as the search space holds them."""
    tuned: dict[str, Any] = {}
    if request.given.get("tuned"):
        tuned = dict(algorithm.tuned_for(request.given["env_id"]).values)
    values = {row.name: tuned.get(row.name, algorithm.default(row.name)) for row in request.space}
    return {row.name: values[row.name] for row in request.space if row.holds(values[row.name])}


def _sampler(request: SweepRequest) -> optuna.samplers.BaseSampler:
    from optuna import samplers

    if request.sampler == "random":
        return samplers.RandomSampler(seed=request.sampler_seed)
    if request.sampler == "grid":
        grid = {row.name: list(row.choices) for row in request.space}
        return samplers.GridSampler(grid, seed=request.sampler_seed)
    # Trials that run beside each other would be alike otherwise.
    return samplers.TPESampler(
        seed=request.sampler_seed,
        n_startup_trials=max(5, min(10, request.trials // 3)),
        constant_liar=request.parallel > 1,
    )


def _pruner(request: SweepRequest) -> optuna.pruners.BasePruner:
    from optuna import pruners

    if request.pruner == "none":
        return pruners.NopPruner()
    if request.pruner == "hyperband":
        return pruners.HyperbandPruner(min_resource=_FIRST_PARTS, max_resource=PARTS)
    if request.pruner == "halving":
        return pruners.SuccessiveHalvingPruner(min_resource=_FIRST_PARTS)
    return pruners.MedianPruner(n_startup_trials=_FIRST_TRIALS, n_warmup_steps=_FIRST_PARTS)
