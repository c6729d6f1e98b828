"""`mosaic cancel`: end runs, with every process that they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mosaic.cli.acting import act_on_runs, runs_parser, wait_until
from mosaic.cli.run_view import has_ended

if TYPE_CHECKING:
    from mosaic.client.blocking import Client
    from mosaic.proto.trainer_pb2 import Run

# Longer than the longest grace that is sensible, and the kill after it.
_PATIENCE_S = 120.0


def run(words: Sequence[str]) -> int:
    parser = runs_parser(
        "cancel",
        "End runs. Each has a grace to save a checkpoint, then every process of it is killed;\n"
        "the command returns when they are gone.",
    )
    parser.add_argument("--no-wait", action="store_true", help="ask, and return at once")
    given = parser.parse(words)

    def cancel(client: Client, run_id: str) -> Run:
        asked = client.cancel(run_id)
        return asked if given.no_wait else wait_until(client, asked, has_ended, _PATIENCE_S)

    return act_on_runs(given.runs, cancel, as_json=given.json)
