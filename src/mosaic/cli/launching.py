"""Hand runs to the daemon: leave them to it, or follow them to their end."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.displays import choose_display
from mosaic.cli.following import EVALUATION_MODE, Follower, ended_run, progress_of
from mosaic.cli.result import EvaluationResult, Result, report, series_lines
from mosaic.cli.run_view import label, run_json
from mosaic.cli.steady import SteadyClient
from mosaic.cli.watching import watch
from mosaic.contracts.errors import EXIT_INTERRUPTED, EXIT_OK
from mosaic.contracts.extras import RESERVED
from mosaic.contracts.paths import RunPaths
from mosaic.contracts.submitting import environment_secrets
from mosaic.contracts.worker_config import extract_worker_config

if TYPE_CHECKING:
    from mosaic.proto.trainer_pb2 import Run, RunDetails, SubmitRunResponse


def launch(
    steady: SteadyClient, documents: Sequence[Mapping[str, Any]], *, detach: bool, as_json: bool
) -> int:
    """Submit every run config; return at once, or with the first exit code that is not 0."""
    answers = [steady.client.submit(each, secrets=environment_secrets()) for each in documents]
    if detach:
        _tell_submitted(answers, as_json=as_json)
        return EXIT_OK
    runs = [answer.run for answer in answers]
    try:
        results = follow_all(steady, runs, documents, as_json=as_json)
    except KeyboardInterrupt:
        print(_goes_on(runs), file=sys.stderr if as_json else sys.stdout)
        return EXIT_INTERRUPTED
    if as_json:
        objects = [run_json(run) | result.to_json() for run, result in results]
        print(json.dumps(objects[0] if len(objects) == 1 else {"runs": objects}))
    return next((result.return_code for _, result in results if result.return_code), EXIT_OK)


def _tell_submitted(answers: Sequence[SubmitRunResponse], *, as_json: bool) -> None:
    if as_json:
        objects = [run_json(answer.run) | {"is_new": answer.is_new} for answer in answers]
        print(json.dumps(objects[0] if len(objects) == 1 else {"runs": objects}))
        return
    for answer in answers:
        run = answer.run
        seed = f", seed {run.seed}" if run.HasField("seed") else ""
        why = run.reason if answer.is_new else "was submitted before, with the same key"
        print(f"{run.run_id}  {label(run)}{seed}{': ' if why else ''}{why}")


def _goes_on(runs: Sequence[Run]) -> str:
    ids = " ".join(run.run_id for run in runs)
    what = "The run goes on" if len(runs) == 1 else "The runs go on"
    return f"{what}. To see more: mosaic watch {ids}\nTo end: mosaic cancel {ids}"


def follow_all(
    steady: SteadyClient,
    runs: Sequence[Run],
    documents: Sequence[Mapping[str, Any]],
    *,
    as_json: bool,
) -> list[tuple[Run, Result]]:
    if len(runs) == 1:
        details, result = _follow_one(steady, runs[0], documents[0], as_json=as_json)
        report(result, as_json=as_json)
        return [(details.run, result)]
    watch(steady, [run.run_id for run in runs], view="silent" if as_json else None)
    results = []
    for run, document in zip(runs, documents, strict=True):
        # The run has ended: this returns at once, with its figures.
        details, result = _follow_one(steady, run, document, as_json=True)
        results.append((details.run, result))
    if not as_json:
        print()
        seeds = [(run.seed if run.HasField("seed") else None, result) for run, result in results]
        print("\n".join(series_lines(label(runs[0]), seeds)))
    return results


def _follow_one(
    steady: SteadyClient, run: Run, document: Mapping[str, Any], *, as_json: bool
) -> tuple[RunDetails, Result]:
    progress = progress_of(run, _episodes(document))
    with choose_display(progress, is_silent=as_json) as display:
        details = Follower(steady, run, progress, display).follow()
    kind = EvaluationResult if run.mode == EVALUATION_MODE else Result
    return details, kind(RunPaths(Path(details.run_dir)), ended_run(details), progress)


def _episodes(document: Mapping[str, Any]) -> int | None:
    """Return how many episodes an evaluation plays; None where it repeats until it is cancelled."""
    extras = extract_worker_config(document).get("extras") or {}
    if extras.get("eval_repeat"):
        return None
    return int(extras.get("eval_batch_size") or RESERVED["eval_batch_size"].default)
