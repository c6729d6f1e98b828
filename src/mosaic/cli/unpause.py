"""`mosaic unpause`: continue runs that were paused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mosaic.cli.acting import act_on_runs, runs_parser, wait_until
from mosaic.cli.pause import PATIENCE_S
from mosaic.contracts.states import RunState

if TYPE_CHECKING:
    from mosaic.client.blocking import Client
    from mosaic.proto.trainer_pb2 import Run


def run(words: Sequence[str]) -> int:
    given = runs_parser("unpause", "Continue runs that were paused.").parse(words)

    def unpause(client: Client, run_id: str) -> Run:
        return wait_until(client, client.unpause(run_id), _is_done, PATIENCE_S)

    return act_on_runs(given.runs, unpause, as_json=given.json)


def _is_done(run: Run) -> bool:
    return run.state != RunState.PAUSED
