"""Live: a sample of the steps as they are taken, and what the agent had in mind."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from nicegui import background_tasks, ui

from gym_gui.episodes import Painter, open_replay, picture_of
from gym_gui.run_view import RunView
from gym_gui.tabs.shown import Shown
from mosaic.client.faults import DaemonFault
from mosaic.client.feeds import AsyncFeed
from mosaic.contracts.errors import MosaicError
from mosaic.proto import trainer_pb2 as pb

# Steps a second that a person can follow; whatever is beyond is in the store.
_CREDITS_A_SECOND = 20
_ROWS = 12
_COLUMNS = {
    "episode_index": "Episode",
    "step_index": "Step",
    "action": "Action",
    "observation": "Observation",
    "reward": "Reward",
}
_NO_PICTURE = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="


def build(view: RunView) -> Shown:
    tab = _Live(view)
    return Shown(tab.refresh, tab.close)


class _Live:
    def __init__(self, view: RunView) -> None:
        self._view = view
        self._feed: AsyncFeed | None = None
        self._task: asyncio.Task[None] | None = None
        self._rows: list[dict[str, Any]] = []
        self._skipped = 0
        self._drawn: tuple[int, int] | None = None
        self._painter = Painter(view.run.env_id)
        self._painting: asyncio.Task[None] | None = None
        self._state = ui.label("Waiting for the first step.").classes("mosaic-muted")
        self._state.props("aria-live=polite")
        with ui.row().classes("w-full gap-4 items-start") as self._body:
            self._picture = ui.image(_NO_PICTURE).classes("w-80 max-w-full rounded")
            self._picture.props("no-spinner no-transition").style("min-height: 20rem").classes(
                "bg-black/10"
            )
            self._picture.props["alt"] = "The environment after the last step shown"
            with ui.column().classes("grow gap-2 min-w-64"):
                self._mind = ui.column().classes("w-full mosaic-panel gap-1")
                self._table = ui.table(
                    columns=[
                        {"name": name, "label": title, "field": name, "align": "right"}
                        for name, title in _COLUMNS.items()
                    ],
                    rows=[],
                    row_key="key",
                ).classes("w-full mosaic-number")
                self._table.props("flat bordered dense hide-pagination")

    async def refresh(self) -> None:
        if self._task is None and not self._view.has_ended:
            self._task = asyncio.create_task(self._follow())
        if self._feed is not None:
            with contextlib.suppress(MosaicError, DaemonFault, asyncio.InvalidStateError):
                await self._feed.grant(_CREDITS_A_SECOND)
        if self._view.has_ended and not self._rows:
            self._state.text = "The run has ended. Its episodes are in the tab Replay."
        self._body.set_visibility(bool(self._rows) or not self._view.has_ended)
        self._draw()

    async def _follow(self) -> None:
        try:
            client = self._view.live.need_client()
            self._feed = client.steps(self._view.run_id, follow=True, only_new=True)
            async for update in self._feed:
                self._take(update)
        except (MosaicError, DaemonFault):
            self._state.text = "The daemon is away."
        self._feed = None

    def _take(self, update: pb.TelemetryLines) -> None:
        if update.flow != pb.FLOWING:
            self._skipped = update.skipped
        self._rows = [*self._rows, *map(json.loads, update.lines)][-_ROWS:]
        if update.is_end:
            self._state.text = "The run has ended. Its episodes are in the tab Replay."
        elif self._rows:
            told = f"{self._skipped:,} steps not shown, all of them stored" if self._skipped else ""
            self._state.text = f"A sample of the steps, about {_CREDITS_A_SECOND} a second. {told}"

    def _draw(self) -> None:
        if not self._rows:
            return
        last = self._rows[-1]
        key = (last["episode_index"], last["step_index"])
        if key == self._drawn:
            return
        self._drawn = key
        self._table.rows = [_row(step) for step in reversed(self._rows)]
        self._table.update()
        self._show_mind(last.get("info") or {})
        if picture := picture_of(last):
            self._picture.set_source(picture)
        elif self._painting is None or self._painting.done():
            self._painting = asyncio.create_task(self._paint(last))

    async def _paint(self, step: dict[str, Any]) -> None:
        """Show a step that brought no picture; it is played again, which may take a while."""
        view = self._view
        with contextlib.suppress(MosaicError, DaemonFault):
            episode = step["episode_index"]
            replay = await open_replay(view.live, view.run_id, self._painter, episode)
            for shot in replay.shots:
                if shot.step is not None and shot.step["step_index"] == step["step_index"]:
                    self._picture.set_source(shot.picture or _NO_PICTURE)

    def _show_mind(self, info: dict[str, Any]) -> None:
        self._mind.clear()
        with self._mind:
            show_mind(info)

    def close(self) -> None:
        if self._feed is not None:
            self._feed.close()
        for task in (self._task, self._painting):
            if task is not None:
                task.cancel()
        background_tasks.create(self._painter.close())


def _row(step: dict[str, Any]) -> dict[str, Any]:
    observation = json.dumps(step["observation"])
    return {
        "key": f"{step['episode_index']}/{step['step_index']}",
        "episode_index": step["episode_index"],
        "step_index": step["step_index"],
        "action": json.dumps(step["action"]),
        "observation": observation if len(observation) <= 40 else observation[:39] + "…",
        "reward": step["reward"],
    }


def show_mind(info: dict[str, Any]) -> None:
    """Show what is told of the agent's mind: beliefs and intentions, or prompt and answer."""
    for title, name in (("Beliefs", "beliefs"), ("Intentions", "intentions")):
        if isinstance(info.get(name), list):
            ui.label(title).classes("font-semibold")
            with ui.row().classes("gap-1"):
                for each in info[name]:
                    ui.label(str(each)).classes("font-mono text-sm mosaic-panel px-2 py-0")
    if "answer" in info:
        ui.label("Answer of the model").classes("font-semibold")
        ui.label(str(info["answer"])).classes("font-mono text-sm whitespace-pre-wrap")
        tokens = (info.get("prompt_tokens"), info.get("completion_tokens"))
        ui.label(f"{tokens[0]} tokens asked, {tokens[1]} answered").classes("mosaic-muted text-xs")
        with ui.expansion("Prompt").classes("w-full"):
            for message in info.get("prompt") or ():
                ui.label(str(message.get("content"))).classes("text-sm whitespace-pre-wrap")
    if not info:
        ui.label("This step tells nothing of the agent's mind.").classes("mosaic-muted")
