"""Replay: any recorded episode, by its number or its return, step by step or at a speed."""

from __future__ import annotations

from typing import Any

from nicegui import background_tasks, ui

from gym_gui.episodes import Painter, Replay, count_episodes, open_replay, read_episodes
from gym_gui.run_view import RunView
from gym_gui.tabs.live_steps import show_mind
from gym_gui.tabs.shown import Shown
from mosaic.client.faults import DaemonFault
from mosaic.contracts.errors import MosaicError

_LISTED = 100
_ORDERS = {"newest": "Newest first", "best": "Best return first", "worst": "Worst return first"}
_SPEEDS = (1, 2, 5, 10, 20)
_NO_PICTURE = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="


def build(view: RunView) -> Shown:
    tab = _Replay(view)
    return Shown(tab.refresh, tab.close)


class _Replay:
    def __init__(self, view: RunView) -> None:
        self._view = view
        self._replay = Replay()
        self._painter = Painter(view.run.env_id)
        self._at = 0
        self._opened: int | None = None
        self._is_listed = False
        self._episodes: dict[int, dict[str, Any]] = {}
        with ui.row().classes("w-full gap-3 items-center"):
            self._order = ui.select(_ORDERS, value="newest", label="Episodes")
            self._order.props("outlined dense").on_value_change(lambda: self._list())
            self._choice = (
                ui.select({}, label="Episode").props("outlined dense").classes("min-w-64")
            )
            self._choice.on_value_change(lambda event: self._open(event.value))
            self._number = ui.number("Go to episode", min=0, format="%d").props("outlined dense")
            self._number.on("keydown.enter", lambda: self._open(_whole(self._number.value)))
        self._note = ui.label("").classes("mosaic-muted").props("aria-live=polite")
        with ui.row().classes("w-full gap-4 items-start"):
            self._picture = (
                ui.image(_NO_PICTURE).classes("w-96 max-w-full").props("no-spinner no-transition")
            )
            self._picture.props["alt"] = "The environment at this step of the episode"
            self._step = ui.column().classes("grow gap-1 min-w-64 mosaic-panel")
        with ui.row().classes("w-full items-center gap-2"):
            self._button("skip_previous", "One step back", lambda: self._go(self._at - 1))
            self._play = self._button("play_arrow", "Play or stop", self._toggle)
            self._button("skip_next", "One step on", lambda: self._go(self._at + 1))
            self._slider = ui.slider(min=0, max=0, value=0).classes("grow basis-32 min-w-32")
            self._slider.props("label aria-label='Step'")
            self._slider.on_value_change(lambda event: self._go(int(event.value)))
            self._speed = ui.select({each: f"{each} steps/s" for each in _SPEEDS}, value=5)
            self._speed.props("outlined dense aria-label=Speed")
            self._speed.on_value_change(lambda event: self._set_speed(event.value))
        self._timer = ui.timer(1 / 5, self._advance, active=False)

    def _button(self, icon: str, label: str, work: Any) -> ui.button:
        button = ui.button(icon=icon, on_click=work).props("flat round")
        button.props["aria-label"] = label
        return button

    async def refresh(self) -> None:
        if not self._is_listed:
            await self._list()
            asked = _whole(self._view.query.get("episode"))
            known = self._episodes
            await self._open(asked if asked is not None else next(iter(known), None))

    async def _list(self) -> None:
        view = self._view
        try:
            if self._order.value == "newest":
                total = await count_episodes(view.live, view.run_id)
                first = max(0, total - _LISTED)
                found = await read_episodes(view.live, view.run_id, from_index=first)
                found.reverse()
            else:
                found = await read_episodes(
                    view.live,
                    view.run_id,
                    by_return=True,
                    ascending=self._order.value == "worst",
                    limit=_LISTED,
                )
        except (MosaicError, DaemonFault) as error:
            self._note.text = str(error)
            return
        self._episodes = {each["episode_index"]: each for each in found}
        self._is_listed = bool(found)
        self._choice.set_options({key: _title(each) for key, each in self._episodes.items()})
        if not found:
            self._note.text = "No episode has ended yet; the first is here when it has."

    async def _open(self, episode: int | None) -> None:
        if episode is None or episode == self._opened:
            return
        view = self._view
        self._note.text = f"Episode {episode} is being opened."
        try:
            self._replay = await open_replay(view.live, view.run_id, self._painter, episode)
        except (MosaicError, DaemonFault) as error:
            self._note.text = str(error)
            return
        self._note.text = self._replay.note
        view.remember(tab="replay", episode=str(episode))
        self._opened = episode
        self._choice.value = episode if episode in self._episodes else None
        self._slider.props["max"] = max(0, len(self._replay.shots) - 1)
        self._slider.update()
        self._go(0)

    def _go(self, at: int) -> None:
        shots = self._replay.shots
        if not shots:
            return
        self._at = min(max(at, 0), len(shots) - 1)
        if self._slider.value != self._at:
            self._slider.value = self._at
        shot = shots[self._at]
        if shot.picture:
            self._picture.set_source(shot.picture)
        self._step.clear()
        with self._step:
            if shot.step is None:
                ui.label("The beginning of the episode.")
                return
            step = shot.step
            total = sum(each.step["reward"] for each in shots[: self._at + 1] if each.step)
            ui.label(f"Step {step['step_index']}: action {step['action']}").classes("font-semibold")
            ui.label(f"Reward {step['reward']}, {total:g} so far")
            end = "terminated" if step["terminated"] else "truncated" if step["truncated"] else ""
            ui.label(f"The episode ends here: {end}." if end else "")
            show_mind(step.get("info") or {})

    def _toggle(self) -> None:
        self._timer.active = not self._timer.active
        self._play.props["icon"] = "pause" if self._timer.active else "play_arrow"
        self._play.update()
        if self._timer.active and self._at >= len(self._replay.shots) - 1:
            self._go(0)

    def _set_speed(self, speed: int) -> None:
        self._timer.interval = 1 / speed

    def _advance(self) -> None:
        if self._at >= len(self._replay.shots) - 1:
            self._toggle()
        else:
            self._go(self._at + 1)

    def close(self) -> None:
        self._timer.active = False
        background_tasks.create(self._painter.close())


def _title(episode: dict[str, Any]) -> str:
    return (
        f"Episode {episode['episode_index']}: return {episode['total_reward']}, "
        f"{episode['steps']} steps"
    )


def _whole(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
