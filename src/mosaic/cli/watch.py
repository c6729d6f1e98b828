"""`mosaic watch`: the runs, as they go on."""

from __future__ import annotations

from collections.abc import Sequence

from mosaic.cli.arguments import Parser
from mosaic.cli.steady import SteadyClient
from mosaic.cli.watching import watch
from mosaic.contracts.errors import EXIT_OK
from mosaic.contracts.paths import VarPaths


def run(words: Sequence[str]) -> int:
    parser = Parser(
        prog="mosaic watch",
        description="Show the runs as they go on: those named until they have ended, otherwise\n"
        "every unfinished one until Ctrl-C, which touches no run.",
    )
    parser.add_argument("runs", metavar="RUN", nargs="*", help="a run, by any unambiguous prefix")
    parser.add_argument("-a", "--all", action="store_true", help="ended runs as well")
    parser.add_argument("--json", action="store_true", help="one object a line, for each change")
    given = parser.parse(words)
    with SteadyClient(VarPaths.default()) as steady:
        ids = [steady.client.get_run(name).run.run_id for name in given.runs]
        watch(steady, ids, with_ended=given.all, view="json" if given.json else None)
    return EXIT_OK
