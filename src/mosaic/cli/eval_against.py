"""Two policies on the same episodes: both are evaluated, then compared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mosaic.cli.formatting import format_score
from mosaic.cli.launching import follow_all, launch
from mosaic.cli.result import Result
from mosaic.cli.run_view import run_json
from mosaic.cli.steady import SteadyClient
from mosaic.contracts.errors import EXIT_OK
from mosaic.contracts.evaluation_statistics import Paired, compare_summaries
from mosaic.contracts.events import finite
from mosaic.contracts.saved_states import read_object
from mosaic.contracts.submitting import environment_secrets


def evaluate_both(
    steady: SteadyClient,
    targets: Sequence[str],
    documents: Sequence[Mapping[str, Any]],
    *,
    detach: bool,
    as_json: bool,
) -> int:
    """Submit both; unless they are left to the daemon, wait and say which is better."""
    if detach:
        return launch(steady, documents, detach=True, as_json=as_json)
    answers = [steady.client.submit(each, secrets=environment_secrets()) for each in documents]
    followed = follow_all(steady, [each.run for each in answers], documents, as_json=as_json)
    results: list[Result] = [result for _, result in followed]
    failed = next((result.return_code for result in results if result.return_code), EXIT_OK)
    summaries = [read_object(result.paths.evaluation_summary) for result in results]
    paired = compare_summaries(*summaries)
    if as_json:
        runs = [run_json(run) | result.to_json() for run, result in followed]
        print(json.dumps({"runs": runs, "comparison": finite(asdict(paired))}))
    elif not failed:
        print("\n".join(comparison_lines(targets, summaries, paired)))
    return failed


def comparison_lines(
    targets: Sequence[str], summaries: Sequence[Mapping[str, Any]], paired: Paired
) -> list[str]:
    """Return the comparison in words."""
    means = [format_score(summary.get("avg_return")) for summary in summaries]
    verdict = "no clear difference"
    if paired.is_clear:
        verdict = f"{'A' if paired.difference > 0 else 'B'} is better"
    interval = f"{paired.low:+.3g} to {paired.high:+.3g}"
    counts = f"more in {paired.wins}, the same in {paired.ties}, less in {paired.losses}"
    return [
        f"  A  {targets[0]}: mean return {means[0]}",
        f"  B  {targets[1]}: mean return {means[1]}",
        f"  A - B: {paired.difference:+.3g}, 95 % interval {interval}: {verdict}",
        f"  Of {paired.episodes} episodes on the same seeds A had {counts}.",
    ]
