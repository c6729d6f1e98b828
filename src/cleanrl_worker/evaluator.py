"""The evaluation process: `python -m cleanrl_worker.evaluator NAME --policy-path=PATH [flags]`.

Plays a trained policy in the working directory, alone or under a worker.
"""

from __future__ import annotations

import itertools
import json
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from cleanrl_worker.channel import Channel
from mosaic.contracts.errors import EXIT_CONFIG, EXIT_OK, EXIT_TERMINATED, MosaicError
from mosaic.contracts.paths import run_name
from mosaic.workers.processes import die_with_parent

if TYPE_CHECKING:
    from cleanrl_worker.eval_preparation import PreparedEvaluation
    from cleanrl_worker.eval_report import EvaluationReport


class StopFlag:
    """Set by SIGTERM and SIGINT, which end the evaluation between two steps."""

    def __init__(self) -> None:
        self.is_set = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._set)

    def _set(self, number: int, frame: FrameType | None) -> None:
        self.is_set = True

    def __call__(self) -> bool:
        return self.is_set


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    channel = Channel.from_environment()
    if channel.is_open:
        die_with_parent()
    if not arguments or arguments[0].startswith("-"):
        usage = "usage: python -m cleanrl_worker.evaluator NAME --policy-path=PATH [--flag=value]"
        print(usage, file=sys.stderr)
        return EXIT_CONFIG
    try:
        from cleanrl_worker.eval_preparation import prepare_evaluation, summarise

        prepared = prepare_evaluation(arguments[0], arguments[1:])
        if prepared.options.dry_run:
            _report_summary(channel, summarise(prepared))
            return EXIT_OK
        return _run(prepared, channel)
    except MosaicError as error:
        channel.send("rejected", code=error.code, message=error.one_line())
        print(error.one_line(), file=sys.stderr)
        return error.exit_code


def _report_summary(channel: Channel, summary: dict[str, Any]) -> None:
    if channel.is_open:
        channel.send("summary", **summary)
    else:
        print(json.dumps(summary, indent=2))


def _run(prepared: PreparedEvaluation, channel: Channel) -> int:
    should_stop = StopFlag()
    report = _open_report(prepared, channel)
    for warning in prepared.warnings:
        print(f"warning: {warning}", file=sys.stderr, flush=True)
    channel.send(
        "prepared",
        device=str(prepared.device),
        backend="sync",
        warnings=list(prepared.warnings),
    )
    started = time.perf_counter()
    try:
        steps = _play_batches(prepared, report, should_stop)
    finally:
        prepared.stage.close()
        report.close()
    channel.send(
        "finished",
        status="stopped" if should_stop() else "completed",
        steps=steps,
        steps_per_second=round(steps / max(time.perf_counter() - started, 1e-9), 1),
    )
    return EXIT_TERMINATED if should_stop() else EXIT_OK


def _play_batches(
    prepared: PreparedEvaluation, report: EvaluationReport, should_stop: StopFlag
) -> int:
    """Play one batch, or batch after batch, and return the steps of all finished episodes."""
    from cleanrl_worker.evaluation import evaluate

    size = prepared.options.eval_batch_size
    steps = 0
    for batch in itertools.count() if prepared.options.eval_repeat else (0,):
        started = time.perf_counter()
        numbers = range(batch * size, (batch + 1) * size)
        episodes = []
        for episode in evaluate(
            prepared.policy.choose, prepared.stage, numbers, prepared.rules, should_stop
        ):
            report.episode(episode)
            episodes.append(episode)
            steps += episode.length
        if len(episodes) < size:  # stopped: a batch is whole or absent
            break
        report.batch(batch, episodes, time.perf_counter() - started)
    return steps


def _open_report(prepared: PreparedEvaluation, channel: Channel) -> EvaluationReport:
    """Open the files: under a worker in its directory, alone in one of its own."""
    from cleanrl_worker.eval_report import EvaluationReport
    from cleanrl_worker.sinks import MetricFile, MetricSink

    options = prepared.options
    home = Path()
    if not channel.is_open:
        name = run_name(prepared.env.id, prepared.recipe.name, options.seed, int(time.time()))
        home = Path("evals") / name
        home.mkdir(parents=True, exist_ok=True)
    sinks: list[MetricSink] = [MetricFile(home / "metrics.jsonl")]
    if options.tensorboard_dir is not None:
        from cleanrl_worker.tensorboard import TensorBoardWriter

        # First: the order in which a batch is written.
        sinks.insert(0, TensorBoardWriter(home / options.tensorboard_dir))
    return EvaluationReport(
        home, channel, sinks, about=prepared.describe(), gamma=options.eval_gamma
    )


if __name__ == "__main__":
    sys.exit(main())
