"""`mosaic ps`: the runs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

from mosaic.cli.arguments import Parser
from mosaic.cli.columns import output_width, table_lines
from mosaic.cli.run_view import run_columns, run_json
from mosaic.client.connecting import connect
from mosaic.contracts.errors import EXIT_OK, ConfigError, suggest
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.states import Outcome, RunState


def run(words: Sequence[str]) -> int:
    parser = Parser(prog="mosaic ps", description="List the runs that have not ended.")
    parser.add_argument("-a", "--all", action="store_true", help="every run, ended ones as well")
    parser.add_argument("--deleted", action="store_true", help="what lies in the bin")
    parser.add_argument("--state", metavar="STATE", help="only runs in this state, or so ended")
    parser.add_argument("--algo", metavar="ALGO", default="", help="only runs of this algorithm")
    parser.add_argument("--env-id", metavar="ENV", default="", help="only runs on this environment")
    parser.add_argument("--limit", metavar="N", type=int, help="the newest N")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse(words)
    if given.limit is not None and given.limit < 1:
        raise ConfigError(f"limit={given.limit} is not allowed: give a number of at least 1.")
    filters = {
        "algo": given.algo,
        "env_id": given.env_id,
        "only_deleted": given.deleted,
        "with_archived": given.all,
        **_state_filter(given.state, is_all=given.all or given.deleted),
    }
    if given.limit is not None:
        filters["page_size"] = min(given.limit, 1000)
    with connect(VarPaths.default()) as client:
        runs = list(itertools.islice(client.all_runs(**filters), given.limit))
    if given.json:
        print(json.dumps([run_json(each) for each in runs]))
    elif runs:
        print("\n".join(table_lines(run_columns(runs), runs, output_width())))
    else:
        print(_nothing(filters))
    return EXIT_OK


def _state_filter(word: str | None, *, is_all: bool) -> dict[str, object]:
    """Return the filter for a state or an outcome; without either, what has not ended."""
    if word is None:
        return {} if is_all else {"only_unfinished": True}
    outcomes = [str(outcome) for outcome in Outcome]
    if word.lower() in outcomes:
        return {"outcomes": [word.lower()]}
    if word.upper() in list(RunState):
        return {"states": [word.upper()]}
    known = [state.lower() for state in RunState] + outcomes
    raise ConfigError(
        f"state={word!r} is not allowed.{suggest(word.lower(), known)}",
        hint=f"Give one of {', '.join(known)}.",
    )


def _nothing(filters: dict[str, object]) -> str:
    if filters.get("only_deleted"):
        return "The bin is empty."
    if filters.get("only_unfinished"):
        return "No run is unfinished. 'mosaic ps --all' lists every run."
    return "There is no such run."
