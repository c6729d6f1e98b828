"""`mosaic rm`: move runs to the bin, or remove them for good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mosaic.cli.acting import act_on_runs, runs_parser

if TYPE_CHECKING:
    from mosaic.client.blocking import Client
    from mosaic.proto.trainer_pb2 import Run


def run(words: Sequence[str]) -> int:
    parser = runs_parser(
        "rm", "Move ended runs to the bin, from which 'mosaic restore' brings them back."
    )
    parser.add_argument("--purge", action="store_true", help="remove every file, now and for good")
    given = parser.parse(words)

    def delete(client: Client, run_id: str) -> Run:
        return client.delete(run_id, purge=given.purge)

    word = "purged" if given.purge else None
    return act_on_runs(given.runs, delete, as_json=given.json, word=word)
