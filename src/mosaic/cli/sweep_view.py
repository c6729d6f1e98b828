"""A sweep on the terminal: a line for every trial that ends, and the best of them."""

from __future__ import annotations

import json
import shlex
import sys
import time
from typing import Any

from mosaic.cli.formatting import format_score
from mosaic.contracts.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, MosaicError
from mosaic.contracts.paths import SweepPaths, VarPaths
from mosaic.contracts.train_flags import train_words
from mosaic.sweeps.reading import Study, Trial, read_study
from mosaic.sweeps.request import SweepRequest, load_request
from mosaic.sweeps.starting import is_conducted
from mosaic.workers.discovery import load_catalogue

_POLL_S = 1.0
_ENDED = ("COMPLETE", "PRUNED", "FAIL")


def follow(paths: VarPaths, name: str, *, as_json: bool) -> int:
    """Tell of every trial as it ends; return when the sweep has."""
    own = paths.sweep(name)
    request = load_request(own)
    if not as_json:
        print(f"{name}: {request.trials} trials of {request.algo} on {request.given['env_id']}")
    told: set[int] = set()
    try:
        while True:
            is_over = not is_conducted(own)
            study = _read(own)
            if study is not None and not as_json:
                _tell_ended(study, told)
            if is_over:
                break
            time.sleep(_POLL_S)
    except KeyboardInterrupt:
        print(f"The sweep goes on. To see more: mosaic sweep --follow {name}", file=sys.stderr)
        return EXIT_INTERRUPTED
    return _conclude(own, request, study, as_json=as_json)


def _read(own: SweepPaths) -> Study | None:
    try:
        return read_study(own.database)
    except MosaicError:  # it is being made
        return None


def _tell_ended(study: Study, told: set[int]) -> None:
    for trial in study.trials:
        if trial.state in _ENDED and trial.number not in told:
            told.add(trial.number)
            print(trial_line(trial), flush=True)


def _conclude(own: SweepPaths, request: SweepRequest, study: Study | None, *, as_json: bool) -> int:
    if study is None or study.best is None:
        print(f"mosaic: no trial was completed. {_last_words(own)}", file=sys.stderr)
        return EXIT_FAILED
    if as_json:
        print(json.dumps(study_json(study, request)))
        return EXIT_OK
    counts = ", ".join(
        f"{study.count(state)} {word}"
        for state, word in (("COMPLETE", "complete"), ("PRUNED", "pruned"), ("FAIL", "failed"))
        if study.count(state)
    )
    print(f"\n{counts}. The best:\n{trial_line(study.best)}\n\n{best_command(request, study.best)}")
    return EXIT_OK


def best_command(request: SweepRequest, trial: Trial) -> str:
    """Return the training with the values of a trial."""
    algorithm = load_catalogue().find(request.algo).algorithm
    given = {**request.given, **trial.params}
    return shlex.join(["mosaic", *train_words(algorithm, given)])


def trial_line(trial: Trial) -> str:
    value = format_score(trial.last_value)
    params = ", ".join(f"{name} {_shown(value)}" for name, value in trial.params.items())
    reason = trial.attributes.get("reason")
    why = f"  ({reason})" if trial.state == "FAIL" and reason else ""
    return f"{trial.number:>4}  {trial.state.lower():<9} {value:>8}  {params}{why}"


def show(own: SweepPaths, *, as_json: bool) -> int:
    """Print the trials as they are now, best first, and the training with the best values."""
    study = read_study(own.database)
    request = load_request(own) if own.request.exists() else None  # another program's has none
    if as_json:
        print(json.dumps(study_json(study, request)))
        return EXIT_OK
    print("\n".join([study.name, *(trial_line(trial) for trial in study.ranked())]))
    if request is not None and study.best is not None:
        print(f"\n{best_command(request, study.best)}")
    return EXIT_OK


def sweep_lines(paths: VarPaths, names: list[str]) -> list[str]:
    lines = []
    for name in names:
        own = paths.sweep(name)
        study = _read(own)
        if study is None:
            lines.append(f"{name}  no trial yet")
            continue
        best = study.best
        done = study.count(*_ENDED)
        state = "under way" if is_conducted(own) else "ended"
        shown = "" if best is None else f", best {format_score(best.value)}"
        lines.append(f"{name}  {state}, {done} trials{shown}")
    return lines


def study_json(study: Study, request: SweepRequest | None) -> dict[str, Any]:
    command = {}
    if request is not None and study.best is not None:
        command["command"] = best_command(request, study.best)
    return {
        **command,
        "study": study.name,
        "direction": "maximize" if study.is_maximised else "minimize",
        "best": None if study.best is None else study.best.number,
        "trials": [
            {
                "number": trial.number,
                "state": trial.state,
                "value": trial.value,
                "params": trial.params,
                "run_ids": trial.run_ids,
                "reports": trial.reports,
                "reason": trial.attributes.get("reason"),
            }
            for trial in study.ranked()
        ],
    }


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _last_words(own: SweepPaths) -> str:
    try:
        lines = own.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""
