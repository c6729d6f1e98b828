"""Play: a person at the keys. The environment runs in a worker; the page only shows and asks."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

from nicegui import ui
from nicegui.events import KeyEventArguments

from gym_gui.dataset_route import dataset_address, dataset_files
from gym_gui.episodes import picture_of
from gym_gui.failures import FAILURES, failure_line
from gym_gui.forms.actor import only_of
from gym_gui.forms.draft import TrainDraft
from gym_gui.forms.environments import find_environment, known_environments
from gym_gui.forms.submitting import Told, submit_all
from gym_gui.frame import frame, page_at
from gym_gui.lines import Line
from gym_gui.live import Live
from gym_gui.widgets.empty import empty
from gym_gui.widgets.game_card import game_card
from gym_gui.widgets.headings import heading
from gym_gui.widgets.run_list import RunList
from mosaic.contracts.errors import ConfigError, NotFound
from mosaic.contracts.interactive import socket_path
from mosaic.workers.discovery import load_catalogue

_WORKER = "human_worker"
_START_S = 60.0
_LISTED = 6
_NO_PICTURE = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
_NAMES = {"ArrowLeft": "←", "ArrowRight": "→", "ArrowUp": "↑", "ArrowDown": "↓", " ": "space"}


def add(live: Live) -> None:
    @page_at("/play")
    def page(env_id: str = "", run: str = "") -> None:
        with frame(live, "Play"):
            heading("Play", 1)
            _Page(live, env_id, run)


class _Page:
    """Choose an environment, then play it; every episode is recorded as a run."""

    def __init__(self, live: Live, env_id: str, run_id: str) -> None:
        self._live = live
        self._is_playing = False
        self._catalogue = only_of(load_catalogue(), _WORKER)
        if not self._catalogue.entries:
            empty("Nobody can play: the human worker is not installed. Run 'mosaic doctor'.")
            return
        self._draft = TrainDraft(self._catalogue, next(iter(self._catalogue.entries)))
        known = known_environments(self._draft.algorithm)
        with ui.row().classes("w-full gap-3 items-center"):
            self._env = ui.select(
                known,
                value=env_id or known[0],
                label="Environment",
                with_input=True,
                new_value_mode="add-unique",
            )
            self._env.props("outlined dense").classes("min-w-64")
            self._env.on_value_change(self._tell)
            self._start = ui.button("Start playing", icon="sports_esports", on_click=self._begin)
            self._start.props("no-caps")
        self._box = ui.column().classes("w-full gap-3")
        self._tell()
        with ui.column().classes("w-full gap-2"):
            heading("Played before")
            self._games = RunList("Nobody has played yet. Every episode is recorded as a run.")
        ui.timer(0.1, self._list, once=True)
        if run_id:
            ui.timer(0.1, lambda: self._join(run_id), once=True)

    def _tell(self) -> None:
        """Show the game that is chosen, in the place where it will be played."""
        if self._is_playing:
            return
        self._box.clear()
        with self._box:
            game_card(find_environment(str(self._env.value or "")))

    async def _list(self) -> None:
        """Show the games of before; the replay of each is on its page."""
        try:
            client = await self._live.await_client()
            page = await client.list_runs(worker=_WORKER, page_size=_LISTED)
        except FAILURES as error:
            self._games.tell(failure_line(error))
            return
        self._games.show(page.runs)

    async def _begin(self) -> None:
        async with Told():
            self._draft.given["env_id"] = str(self._env.value or "")
            [run] = await submit_all(self._live, self._draft.documents())
            await self._join(run.run_id)

    async def _join(self, run_id: str) -> None:
        async with Told():
            self._is_playing = True
            self._box.clear()
            with self._box:
                ui.label("The environment is being started.").classes("mosaic-muted")
            line = await _connect(self._live, run_id)
            ui.navigate.history.replace(f"/play?run={run_id}")
            self._box.clear()
            with self._box:
                player = _Player(self._live, line, run_id)
            ui.context.client.on_delete(player.leave)
            await player.new_episode()


async def _connect(live: Live, run_id: str) -> Line:
    """Connect to the worker of a run as soon as it listens."""
    deadline = asyncio.get_running_loop().time() + _START_S
    while True:
        with contextlib.suppress(OSError):
            return await Line.over_socket(socket_path(run_id))
        run = (await live.need_client().get_run(run_id)).run
        if run.outcome:
            raise ConfigError(f"The game has ended: {run.reason or run.outcome}.")
        if asyncio.get_running_loop().time() > deadline:
            raise ConfigError(f"The game did not start within {_START_S:.0f} s.")
        await asyncio.sleep(0.2)


class _Player:
    """The table as the person sees it."""

    def __init__(self, live: Live, line: Line, run_id: str) -> None:
        self._live = live
        self._line = line
        self._run_id = run_id
        self._keys: dict[str, int] = {}
        self._rest: int | None = None
        self._held: int | None = None
        self._is_over = True
        self._is_busy = False
        self._status = ui.label("").classes("text-lg").props("aria-live=polite")
        self._picture = (
            ui.image(_NO_PICTURE).classes("w-[30rem] max-w-full").props("no-spinner no-transition")
        )
        self._picture.props["alt"] = "The game"
        self._buttons = ui.row().classes("gap-2")
        with ui.row().classes("gap-3 items-center"):
            ui.button("New episode", icon="replay", on_click=self.new_episode).props("no-caps")
            self._real_time = ui.switch("Real time", on_change=self._set_pace)
            ui.button("Stop and keep", icon="stop", on_click=self._stop).props("no-caps outline")
            ui.link("Replay", f"/runs/{run_id}?tab=replay")
            button = ui.button("Download (Minari)", icon="download", on_click=self._download)
            button.props("no-caps flat")
        self._timer = ui.timer(0.25, self._tick, active=False)
        ui.keyboard(on_key=self._on_key)

    async def new_episode(self) -> None:
        async with Told():
            ready = await self._line.reset()
            self._keys = {str(key): int(action) for key, action in ready["keys"].items()}
            self._rest = ready.get("rest")
            self._timer.interval = 1 / float(ready.get("fps") or 4.0)
            self._is_over = False
            self._show(ready)
            self._label(ready["action_labels"])
            self._status.text = f"Episode {ready['episode_index'] + 1}: your move."

    def _label(self, names: list[str]) -> None:
        self._buttons.clear()
        by_action = {action: key for key, action in self._keys.items()}
        with self._buttons:
            for action, name in enumerate(names):
                key = by_action.get(action)
                text = f"{name} ({_NAMES.get(key, key)})" if key else name
                button = ui.button(text, on_click=lambda action=action: self._act(action))
                button.props("no-caps outline")

    async def _on_key(self, event: KeyEventArguments) -> None:
        action = self._keys.get(str(event.key))
        if action is None:
            return
        if event.action.keyup:
            self._held = None if self._held == action else self._held
        elif event.action.keydown:
            self._held = action
            if not self._real_time.value and not event.action.repeat:
                await self._act(action)

    def _set_pace(self) -> None:
        self._timer.active = bool(self._real_time.value)

    async def _tick(self) -> None:
        action = self._held if self._held is not None else self._rest
        if action is not None and not self._is_over:
            await self._act(action)

    async def _act(self, action: int) -> None:
        if self._is_over or self._is_busy:
            return
        self._is_busy = True
        try:
            async with Told():
                step, *end = await self._line.step(action)
                self._show(step)
                self._status.text = (
                    f"Episode {step['episode_index'] + 1}, step {step['step_index']}: reward "
                    f"{step['reward']:g}, {step['episode_reward']:g} so far."
                )
                if end:
                    self._is_over = True
                    self._status.text = (
                        f"Episode {end[0]['episode_number']} is over: return "
                        f"{end[0]['total_reward']:g} in {end[0]['episode_length']} steps."
                    )
        finally:
            self._is_busy = False

    def _show(self, message: dict[str, Any]) -> None:
        if picture := picture_of(message):
            self._picture.set_source(picture)

    async def _stop(self) -> None:
        self._timer.active = False
        self._is_over = True
        await self._line.stop()
        ui.navigate.to(f"/runs/{self._run_id}?tab=replay")

    async def _download(self) -> None:
        async with Told():
            details = await self._live.need_client().get_run(self._run_id)
            if not await asyncio.to_thread(dataset_files, Path(details.run_dir)):
                raise NotFound("There is no dataset yet: it begins with the first episode's end.")
            ui.download.from_url(dataset_address(self._run_id))

    async def leave(self) -> None:
        """Let go of the game: whoever opens its address goes on with it."""
        self._timer.active = False
        await self._line.close()
