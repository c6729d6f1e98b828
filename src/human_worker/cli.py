"""`python -m human_worker.cli`: let a person play, over a socket or, `--interactive`, a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from human_worker import get_worker_metadata
from mosaic.workers.solo.command_line import main as run_program
from mosaic.workers.solo.program import Prepared, Program
from mosaic.workers.solo.settings import RunSettings
from mosaic.workers.solo.table import Table


def _describe() -> dict[str, Any]:
    from human_worker.describe import describe

    return describe()


def _prepare(settings: RunSettings) -> Prepared:
    from human_worker.runs import HumanRun

    return HumanRun(settings)


def _sit_down(settings: RunSettings) -> Table:
    from human_worker.games import make_table

    return make_table(settings.env_id, settings.seed)


PROGRAM = Program("human-worker", get_worker_metadata, _describe, _prepare, _sit_down)


def main(argv: Sequence[str] | None = None) -> int:
    return run_program(PROGRAM, argv)


if __name__ == "__main__":
    sys.exit(main())
