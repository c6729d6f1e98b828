"""`python -m spade_bdi_rl_worker.cli`: run one config, with lifecycle events on stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from mosaic.contracts.errors import DependencyMissing
from mosaic.workers.solo.command_line import main as run_program
from mosaic.workers.solo.program import Prepared, Program
from mosaic.workers.solo.settings import RunSettings
from mosaic.workers.solo.table import Table
from spade_bdi_rl_worker import get_worker_metadata


def _describe() -> dict[str, Any]:
    from spade_bdi_rl_worker.describe import describe

    return describe()


def _prepare(settings: RunSettings) -> Prepared:
    for package in ("spade", "spade_bdi"):
        if find_spec(package) is None:
            raise DependencyMissing(
                f"The Spade BDI worker needs the package {package}.",
                hint="Install the extra 'spade'.",
            )
    from spade_bdi_rl_worker.runs import BdiRun

    return BdiRun(settings)


def _sit_down(settings: RunSettings) -> Table:
    from spade_bdi_rl_worker.greedy import make_table

    return make_table(settings)


PROGRAM = Program("spade-bdi-worker", get_worker_metadata, _describe, _prepare, _sit_down)


def main(argv: Sequence[str] | None = None) -> int:
    return run_program(PROGRAM, argv)


if __name__ == "__main__":
    sys.exit(main())
