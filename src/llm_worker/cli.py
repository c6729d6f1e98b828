"""`python -m llm_worker.cli`: run one config, with lifecycle events on stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from llm_worker import get_worker_metadata
from mosaic.workers.solo.command_line import main as run_program
from mosaic.workers.solo.program import Prepared, Program
from mosaic.workers.solo.settings import RunSettings
from mosaic.workers.solo.table import Table


def _describe() -> dict[str, Any]:
    from llm_worker.describe import describe

    return describe()


def _prepare(settings: RunSettings) -> Prepared:
    from llm_worker.runs import LlmRun

    return LlmRun(settings)


def _sit_down(settings: RunSettings) -> Table:
    from llm_worker.runs import LlmRun

    return LlmRun(settings).table()


PROGRAM = Program("llm-worker", get_worker_metadata, _describe, _prepare, _sit_down)


def main(argv: Sequence[str] | None = None) -> int:
    return run_program(PROGRAM, argv)


if __name__ == "__main__":
    sys.exit(main())
