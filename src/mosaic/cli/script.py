"""`mosaic script`: run a script whose phases are commands of `mosaic`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from mosaic.cli.arguments import Parser
from mosaic.cli.script_run import ScriptRun
from mosaic.contracts.errors import EXIT_OK
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.scripts import Script, find_script, find_scripts
from mosaic.contracts.settings import load_settings


def run(words: Sequence[str]) -> int:
    parser = Parser(
        prog="mosaic script",
        description="Run a script whose phases are commands of mosaic; without one, list those\n"
        "that may run: ours, and those in directories that the operator allowed.",
    )
    add = parser.add_argument
    add("script", nargs="?", metavar="SCRIPT", help="a name from the list, or a path")
    add("--seed", type=int, default=1, metavar="N", help="seed of its runs (1)")
    add("--total-timesteps", type=int, metavar="N", help="in place of the script's own")
    add("--run-id", metavar="ID", help="id of the script run; made when absent")
    add("--json", action="store_true", help="print one JSON object at the end, and no progress")
    given = parser.parse(words)
    paths = VarPaths.default()
    settings = load_settings(paths.settings)
    if given.script is None:
        return _list(find_scripts(settings), as_json=given.json)
    script = find_script(given.script, settings)
    values = {"seed": given.seed, "total_timesteps": given.total_timesteps}
    return ScriptRun(script, paths, values, run_id=given.run_id, is_silent=given.json).run()


def _list(scripts: Sequence[Script], *, as_json: bool) -> int:
    if as_json:
        print(json.dumps([script.to_json() for script in scripts]))
        return EXIT_OK
    for script in scripts:
        print(f"{script.name:<16}{script.description}")
        if script.phases:
            print(f"{'':<16}phases: {', '.join(script.phases)}")
    return EXIT_OK
