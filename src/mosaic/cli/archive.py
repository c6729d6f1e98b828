"""`mosaic archive`: hide ended runs from lists, and keep all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mosaic.cli.acting import act_on_runs, runs_parser

if TYPE_CHECKING:
    from mosaic.client.blocking import Client
    from mosaic.proto.trainer_pb2 import Run


def run(words: Sequence[str]) -> int:
    parser = runs_parser(
        "archive", "Hide ended runs from lists. Every file stays; 'mosaic ps --all' shows them."
    )
    parser.add_argument("--undo", action="store_true", help="show them in lists again")
    given = parser.parse(words)

    def archive(client: Client, run_id: str) -> Run:
        return client.archive(run_id, undo=given.undo)

    word = "back in lists" if given.undo else "archived"
    return act_on_runs(given.runs, archive, as_json=given.json, word=word)
