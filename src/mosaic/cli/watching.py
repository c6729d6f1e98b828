"""Several runs at once: a live table on a terminal, a line for each change elsewhere."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from mosaic.cli.columns import table_lines
from mosaic.cli.formatting import format_score
from mosaic.cli.run_view import (
    SHORTEST_ID,
    has_ended,
    label,
    reason,
    run_columns,
    run_json,
    state_word,
    steps,
)
from mosaic.cli.steady import SteadyClient

if TYPE_CHECKING:
    from rich.text import Text

    from mosaic.proto.trainer_pb2 import Run, RunUpdate

_REFRESHES_A_SECOND = 4
_PLAIN_INTERVAL_S = 5.0
_STYLES = {
    "executing": "green",
    "succeeded": "bold green",
    "failed": "bold red",
    "faulted": "bold red",
    "cancelled": "yellow",
    "cancelling": "yellow",
    "paused": "yellow",
    "queued": "cyan",
}


def watch(
    steady: SteadyClient,
    run_ids: Sequence[str] = (),
    *,
    with_ended: bool = False,
    view: str | None = None,
) -> None:
    """Show the runs: those that are named until they have ended, otherwise until interrupted.

    The view is "live", "plain", "json" or "silent"; when absent, what suits the output.
    """
    table = RunTable()

    def is_done() -> bool:
        is_complete = bool(run_ids) and table.has_snapshot
        return is_complete and all(map(has_ended, table.runs.values()))

    only_unfinished = not with_ended and not run_ids
    updates = steady.stream(
        lambda client: client.watch_runs(run_ids, only_unfinished=only_unfinished)
    )
    chosen = view or _best_view()
    if chosen == "live":
        _watch_live(updates, table, is_done)
    else:
        _watch_lines(updates, table, is_done, chosen)


class RunTable:
    """The runs as they were last told, oldest first."""

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.has_snapshot = False

    def take(self, update: RunUpdate) -> None:
        if update.is_snapshot_end:
            self.has_snapshot = True
        elif update.is_removed:
            self.runs.pop(update.run.run_id, None)
        else:
            self.runs[update.run.run_id] = update.run

    def lines(self, width: int, height: int) -> list[str]:
        """Return the table; of more runs than there is room for, the newest."""
        runs = sorted(self.runs.values(), key=lambda run: run.run_id)
        if not runs:
            return ["no run yet" if self.has_snapshot else "asking the daemon"]
        room = max(1, height - 2)
        shown = runs[-room:]
        lines = table_lines(run_columns(runs), shown, width)
        hidden = len(runs) - len(shown)
        return lines if not hidden else [*lines, f"and {hidden} older: 'mosaic ps' lists them"]


def _best_view() -> str:
    return "live" if sys.stdout.isatty() and os.environ.get("TERM") != "dumb" else "plain"


def _watch_lines(
    updates: Iterator[RunUpdate], table: RunTable, is_done: Callable[[], bool], view: str
) -> None:
    tells: dict[str, Callable[[RunUpdate], None]] = {
        "json": _tell_json,
        "plain": PlainChanges(sys.stdout),
        "silent": lambda update: None,
    }
    for update in updates:
        table.take(update)
        if update.HasField("run"):
            tells[view](update)
        if is_done():
            return


def _tell_json(update: RunUpdate) -> None:
    print(json.dumps(run_json(update.run) | {"is_removed": update.is_removed}), flush=True)


class PlainChanges:
    """A line when a run is in another state, and one every few seconds while it trains."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out = out
        self._clock = clock
        self._told: dict[str, tuple[str, str]] = {}
        self._next: dict[str, float] = {}

    def __call__(self, update: RunUpdate) -> None:
        run = update.run
        word = "purged" if update.is_removed else state_word(run)
        state = (word, reason(run))
        now = self._clock()
        if self._told.get(run.run_id) == state and now < self._next[run.run_id]:
            return
        self._told[run.run_id] = state
        self._next[run.run_id] = now + _PLAIN_INTERVAL_S
        print(self._line(run, word), file=self._out, flush=True)

    def _line(self, run: Run, word: str) -> str:
        parts = [run.run_id[:SHORTEST_ID], f"{word:<10}", label(run), steps(run)]
        if run.HasField("last_return"):
            parts.append(f"return {format_score(run.last_return)}")
        return "  ".join([*parts, reason(run)]).rstrip()


def _watch_live(updates: Iterator[RunUpdate], table: RunTable, is_done: Callable[[], bool]) -> None:
    from rich.console import Console
    from rich.live import Live

    console = Console(highlight=False)
    live = Live(
        console=console,
        get_renderable=lambda: _styled(table.lines(console.width - 1, console.height)),
        refresh_per_second=_REFRESHES_A_SECOND,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with live:
        for update in updates:
            table.take(update)
            if is_done():
                return


def _styled(lines: Sequence[str]) -> Text:
    from rich.text import Text

    text = Text("\n".join(lines), no_wrap=True, overflow="crop")
    text.stylize("bold", 0, len(lines[0]) if len(lines) > 1 else 0)
    start = 0
    for line in lines:
        words = re.match(r"\S+\s+(\S+)", line)  # the run and its state
        if words is not None:
            style = _STYLES.get(words[1], "")
            text.stylize(style, start + words.start(1), start + words.end(1))
        start += len(line) + 1
    return text
