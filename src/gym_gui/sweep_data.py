"""What the pages of sweeps show, made from a study: no page, no Optuna."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gym_gui import formatting
from mosaic.contracts.errors import MosaicError
from mosaic.contracts.paths import VarPaths
from mosaic.sweeps.reading import Study, Trial, read_study
from mosaic.sweeps.request import SweepRequest, load_request
from mosaic.sweeps.starting import is_conducted, list_sweeps

# Numbers are compared in so many groups.
_GROUPS = 4
_FEWEST = 6
_LONGEST_LABEL = 8
_WIDE = 10


@dataclass(frozen=True, slots=True)
class SweepView:
    """A sweep as it is now. One that another program made has no request."""

    name: str
    study: Study | None
    request: SweepRequest | None
    is_under_way: bool

    @property
    def summary(self) -> str:
        state = "under way" if self.is_under_way else "ended" if self.request else "read only"
        if self.study is None:
            return f"{state}, no trial yet"
        words = [state, f"{self.study.count('COMPLETE')} complete"]
        others = (("PRUNED", "pruned"), ("RUNNING", "running"), ("FAIL", "failed"))
        words += [f"{count} {word}" for key, word in others if (count := self.study.count(key))]
        return ", ".join(words)


def read_sweep(paths: VarPaths, name: str) -> SweepView:
    """Read a sweep from its files; what is not there yet, or not readable, is absent."""
    own = paths.sweep(name)
    study, request = None, None
    try:
        study = read_study(own.database)
    except MosaicError:
        study = None
    try:
        request = load_request(own)
    except (MosaicError, TypeError, KeyError):
        request = None
    return SweepView(name, study, request, is_conducted(own))


def read_sweeps(paths: VarPaths, limit: int) -> list[SweepView]:
    return [read_sweep(paths, name) for name in list_sweeps(paths)[:limit]]


def trial_rows(study: Study) -> list[dict[str, Any]]:
    """Return the rows of the table, best first."""
    return [
        {
            "number": trial.number,
            "state": trial.state.lower(),
            "value": formatting.number(trial.last_value),
            "reason": str(trial.attributes.get("reason") or ""),
            "run": trial.run_ids[0] if trial.run_ids else "",
            **{f"param:{name}": _shown(value) for name, value in trial.params.items()},
        }
        for trial in study.ranked()
    ]


def param_names(study: Study) -> list[str]:
    return list(dict.fromkeys(name for trial in study.trials for name in trial.params))


def history(study: Study) -> tuple[list[list[float]], list[list[float]]]:
    """Return the value of every complete trial, and the best until then."""
    values: list[list[float]] = []
    bests: list[list[float]] = []
    best = -math.inf if study.is_maximised else math.inf
    for trial in study.trials:
        if trial.state != "COMPLETE" or trial.value is None or not math.isfinite(trial.value):
            continue
        best = (max if study.is_maximised else min)(best, trial.value)
        values.append([trial.number, trial.value])
        bests.append([trial.number, best])
    return values, bests


def importances(study: Study) -> dict[str, float]:
    """Return the share of the objective's variance that each parameter explains alone.

    It is the correlation ratio over the values, or over four groups of them where they are many. A
    pruned trial counts with what it had reached.
    """
    trials = [trial for trial in study.trials if _is_judged(trial)]
    if len(trials) < _FEWEST:
        return {}
    shares = {name: _share(trials, name) for name in param_names(study)}
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def _is_judged(trial: Trial) -> bool:
    value = trial.last_value
    return trial.state in ("COMPLETE", "PRUNED") and value is not None and math.isfinite(value)


def _share(trials: Sequence[Trial], name: str) -> float:
    pairs = [(trial.params[name], float(trial.last_value or 0.0)) for trial in trials
             if name in trial.params]  # fmt: skip
    mean = sum(value for _, value in pairs) / len(pairs)
    total = sum((value - mean) ** 2 for _, value in pairs)
    if total == 0:
        return 0.0
    groups: dict[Any, list[float]] = {}
    for key, value in _grouped(pairs):
        groups.setdefault(key, []).append(value)
    between = sum(len(each) * (sum(each) / len(each) - mean) ** 2 for each in groups.values())
    return between / total


def _grouped(pairs: list[tuple[Any, float]]) -> list[tuple[Any, float]]:
    keys = {key for key, _ in pairs}
    if len(keys) <= _GROUPS + 1 or not all(isinstance(key, int | float) for key in keys):
        return pairs
    ordered = sorted(pairs, key=lambda pair: pair[0])
    return [(place * _GROUPS // len(ordered), value) for place, (_, value) in enumerate(ordered)]


def parallel(study: Study) -> tuple[list[dict[str, Any]], list[list[Any]]]:
    """Return the axes of the parallel coordinates, and a line for each judged trial."""
    names = param_names(study)
    trials = [trial for trial in study.trials if _is_judged(trial)]
    axes: list[dict[str, Any]] = []
    for place, name in enumerate(names):
        values = [trial.params.get(name) for trial in trials]
        kinds = sorted({str(value) for value in values}, key=_by_number)
        axes.append({"dim": place, "name": name, **_scale(values, kinds)})
    axes.append({"dim": len(names), "name": "objective", "scale": True})
    lines = []
    for trial in trials:
        cells = [
            _cell(trial.params.get(name), axis) for name, axis in zip(names, axes, strict=False)
        ]
        lines.append([*cells, trial.last_value])
    return axes, lines


def _scale(values: list[Any], kinds: list[str]) -> dict[str, Any]:
    """Return how an axis is divided: by its few values, evenly, or by orders of magnitude."""
    numbers = [value for value in values if isinstance(value, int | float)]
    is_drawn = any(len(kind) > _LONGEST_LABEL for kind in kinds)  # from a span, not from a list
    if len(numbers) < len(values) or not (is_drawn or len(kinds) > _GROUPS + 2):
        return {"type": "category", "data": kinds}
    low, high = min(numbers), max(numbers)
    return {"type": "log"} if low > 0 and high / low > _WIDE else {"type": "value", "scale": True}


def _cell(value: Any, axis: dict[str, Any]) -> Any:
    return str(value) if axis.get("type") == "category" else value


def _by_number(text: str) -> tuple[float, str]:
    try:
        return float(text), text
    except ValueError:
        return math.inf, text


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
