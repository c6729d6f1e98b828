"""`mosaic restore`: bring runs back from the bin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mosaic.cli.acting import act_on_runs, runs_parser

if TYPE_CHECKING:
    from mosaic.client.blocking import Client
    from mosaic.proto.trainer_pb2 import Run


def run(words: Sequence[str]) -> int:
    given = runs_parser("restore", "Bring runs back from the bin.").parse(words)

    def restore(client: Client, run_id: str) -> Run:
        return client.restore(run_id)

    return act_on_runs(given.runs, restore, as_json=given.json, word="restored")
