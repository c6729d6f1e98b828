"""`mosaic pause`: stop the processes of runs where they are; `mosaic unpause` continues them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mosaic.cli.acting import act_on_runs, runs_parser, wait_until
from mosaic.cli.run_view import has_ended
from mosaic.contracts.states import RunState

if TYPE_CHECKING:
    from mosaic.client.blocking import Client
    from mosaic.proto.trainer_pb2 import Run

PATIENCE_S = 10.0


def run(words: Sequence[str]) -> int:
    parser = runs_parser(
        "pause",
        "Stop the processes of runs where they are. They keep their memory and their resources;\n"
        "'mosaic unpause' continues them.",
    )
    given = parser.parse(words)

    def pause(client: Client, run_id: str) -> Run:
        return wait_until(client, client.pause(run_id), _is_done, PATIENCE_S)

    return act_on_runs(given.runs, pause, as_json=given.json)


def _is_done(run: Run) -> bool:
    return run.state == RunState.PAUSED or has_ended(run)
