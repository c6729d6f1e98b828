"""Commands that do one thing to one run or to several, and tell what became of each."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mosaic.cli.arguments import Parser
from mosaic.cli.run_view import label, reason, run_json, state_word
from mosaic.client.connecting import connect
from mosaic.contracts.errors import EXIT_OK, MosaicError
from mosaic.contracts.paths import VarPaths

if TYPE_CHECKING:
    from mosaic.client.blocking import Client
    from mosaic.proto.trainer_pb2 import Run

Action = Callable[["Client", str], "Run"]


def runs_parser(command: str, description: str) -> Parser:
    parser = Parser(prog=f"mosaic {command}", description=description)
    parser.add_argument("runs", metavar="RUN", nargs="+", help="a run, by any unambiguous prefix")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def act_on_runs(
    runs: Sequence[str], action: Action, *, as_json: bool, word: str | None = None
) -> int:
    """Do it to every run; one that refuses is told, and does not keep the others from it.

    `word` says what was done, where the state of the run does not.
    """
    code = EXIT_OK
    done = []
    with connect(VarPaths.default()) as client:
        for name in dict.fromkeys(runs):
            try:
                done.append(action(client, name))
            except MosaicError as error:
                print(f"mosaic: {error.one_line()}", file=sys.stderr)
                code = code or error.exit_code
                continue
            if not as_json:
                print(outcome_line(done[-1], word))
    if as_json and done:
        documents = [run_json(each) for each in done]
        print(json.dumps(documents[0] if len(runs) == 1 else {"runs": documents}))
    return code


def outcome_line(run: Run, word: str | None = None) -> str:
    why = f": {reason(run)}" if reason(run) and word is None else ""
    return f"{run.run_id}  {word or state_word(run)}  {label(run)}{why}"


def wait_until(client: Client, run: Run, is_done: Callable[[Run], bool], timeout_s: float) -> Run:
    """Return the run once it is as wanted, or as it is when the time is over."""
    if is_done(run):
        return run
    for update in client.watch_runs([run.run_id], timeout_s=timeout_s):
        run = update.run if update.HasField("run") else run
        if is_done(run) or update.is_removed:
            break
    return run
