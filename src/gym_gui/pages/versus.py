"""Side by side: several actors in the same episodes, step by step, and one table."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from urllib.parse import urlencode

from nicegui import background_tasks, ui
from starlette.requests import Request

from gym_gui.failures import FAILURES, failure_line
from gym_gui.frame import frame
from gym_gui.live import Live
from gym_gui.side_by_side import MOST_EPISODES, Match, match_rows, play, read_contenders
from gym_gui.widgets.command_line import command_line
from gym_gui.widgets.headings import heading
from mosaic.contracts.train_flags import SEEDS

_HELP = (
    "One on a line: a run (its policy plays; of a person's run, what was recorded), a policy file "
    "or checkpoint, llm:MODEL@BASE_URL, or random."
)
_COLUMNS = {
    "name": "Contender",
    "mean": "Mean return",
    "median": "Median",
    "best": "Best",
    "worst": "Worst",
    "steps": "Steps",
    "wins": "Wins",
}


def add(live: Live) -> None:
    @ui.page("/versus")
    async def page(request: Request) -> None:
        with frame(live, "Compare"):
            _Page(live, request.query_params.getlist("c"), request.query_params.get("env_id", ""))


class _Page:
    def __init__(self, live: Live, contenders: list[str], env_id: str) -> None:
        self._live = live
        self._playing: asyncio.Task[None] | None = None
        heading("Side by side", 1)
        ui.label(
            "Each plays the same environment from the same seeds, one step in turn. Nothing is "
            "learned, and no run is made."
        ).classes("mosaic-muted")
        with ui.column().classes("w-full mosaic-panel gap-3"):
            self._names = ui.textarea("Contenders", value="\n".join(contenders or ["random"]))
            self._names.classes("w-full mosaic-mono").props(f'outlined autogrow hint="{_HELP}"')
            with ui.row().classes("w-full items-start gap-3"):
                self._env_id = ui.input("Environment", value=env_id).props(
                    'outlined dense hint="Empty: that of the first run"'
                )
                self._episodes = ui.number("Episodes", value=10, min=1, max=MOST_EPISODES)
                self._seed = ui.number("Seed of the first episode", value=1, min=0, max=SEEDS[1])
                for field in (self._episodes, self._seed):
                    field.props("outlined dense").props["precision"] = 0
            with ui.row().classes("items-center gap-3"):
                self._start = ui.button("Let them play", icon="sports", on_click=self._begin)
                self._stop = ui.button("Stop", icon="stop", on_click=self._end)
                self._start.props("no-caps")
                self._stop.props("no-caps outline").set_visibility(False)
                self._line = ui.label().props("role=status aria-live=polite")
        self._command = ui.column().classes("w-full")
        self._table = ui.table(rows=[], columns=_columns(), row_key="place").classes("w-full")
        self._table.props("flat dense hide-pagination aria-label='Result'").set_visibility(False)
        ui.context.client.on_delete(self._end)

    def _begin(self) -> None:
        try:
            match = self._match()
            words = match.words()
        except FAILURES as error:
            self._line.set_text(failure_line(error))
            return
        named = [("c", name) for name in match.contenders]
        address = urlencode([*named, *([("env_id", match.env_id)] if match.env_id else [])])
        ui.navigate.history.replace(f"/versus?{address}")
        self._command.clear()
        with self._command:
            command_line(shlex.join(["mosaic", *words]))
        self._show_playing(True)
        self._playing = background_tasks.create(self._play(match))

    def _match(self) -> Match:
        return Match(
            read_contenders(str(self._names.value or "")),
            str(self._env_id.value or "").strip(),
            int(self._episodes.value or 10),
            int(self._seed.value or 0),
        )

    async def _play(self, match: Match) -> None:
        try:
            result = await play(self._live.paths, match)
        except FAILURES as error:
            self._tell(failure_line(error))
            return
        except asyncio.CancelledError:
            self._tell("Stopped.")
            raise
        seeds = result["seeds"]
        told = f"{result['env_id']}, {len(seeds)} episodes each, seeds {seeds[0]} to {seeds[-1]}."
        self._tell(told)
        if not self._table.is_deleted:
            self._table.rows = match_rows(result)
            self._table.set_visibility(True)

    def _tell(self, text: str) -> None:
        if not self._line.is_deleted:
            self._line.set_text(text)
            self._show_playing(False)

    def _show_playing(self, is_on: bool) -> None:
        self._start.set_enabled(not is_on)
        self._stop.set_visibility(is_on)
        if is_on:
            self._line.set_text("They play. The actors take some seconds to begin …")

    def _end(self) -> None:
        if self._playing is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended with the GUI
                self._playing.cancel()


def _columns() -> list[dict[str, str]]:
    return [
        {"name": key, "label": label, "field": key, "align": "left" if key == "name" else "right"}
        for key, label in _COLUMNS.items()
    ]
