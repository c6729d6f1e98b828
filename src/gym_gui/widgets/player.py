"""The player: an environment that is stepped by a policy, by a person, or by both in turn.

It knows no policies and no runs: what is played is a PlayRequest. The environment lives in a
process of its own, which goes with the page.
"""

from __future__ import annotations

import asyncio
from typing import Any

from nicegui import ui
from nicegui.events import KeyEventArguments

from gym_gui.play_route import Picture
from mosaic.client.playing import PlayProcess
from mosaic.contracts.action_keys import key_actions
from mosaic.contracts.errors import MosaicError
from mosaic.contracts.play_request import PlayRequest

_SPEEDS = (1, 60)  # steps a second
_USUAL_SPEED = 10
_ARROWS = {
    "ArrowLeft": "left",
    "ArrowRight": "right",
    "ArrowUp": "up",
    "ArrowDown": "down",
}


class Player:
    """Picture, figures and buttons over one process; `start` is awaited once they stand."""

    def __init__(self, module: str, request: PlayRequest, *, height: str = "26rem") -> None:
        self._module = module
        self._request = request
        self._process: PlayProcess | None = None
        self._picture = Picture()
        self._is_running = False
        self._is_closed = False
        self._labels: list[str] = []
        self._turn = asyncio.Lock()
        self._build(height)
        ui.context.client.on_disconnect(self.close)

    def _build(self, height: str) -> None:
        with ui.column().classes("w-full mosaic-panel gap-2"):
            with ui.element("div").classes(
                "w-full flex items-center justify-center rounded bg-black/10"
            ) as box:
                box.style(f"height: {height}")
                self._image = ui.element("img").classes("max-w-full max-h-full object-contain")
                self._image.style("image-rendering: pixelated; height: 100%")
                self._image.props('alt="The environment as it stands"')
                self._image.set_visibility(False)
                self._why = ui.label("Starting…").classes("mosaic-muted p-4")
            self._place = ui.label("").classes("mosaic-number").props("role=status")
            self._note = ui.label("").classes("mosaic-muted").props("aria-live=polite")
            with ui.row().classes("w-full items-center gap-2"):
                self._step_button = self._button("Step", "skip_next", self.step)
                self._run_button = self._button("Run", "play_arrow", self.toggle)
                self._reset_button = self._button("Reset", "restart_alt", self.reset)
                self._seed = ui.number("Seed", min=0, precision=0).props("outlined dense")
                self._seed.classes("w-36").props["hint"] = "Empty: drawn."
                ui.label("Speed").classes("mosaic-muted")
                self._speed = ui.slider(min=_SPEEDS[0], max=_SPEEDS[1], value=_USUAL_SPEED)
                self._speed.props("label aria-label='Steps a second'").classes("w-40")
            self._actions = ui.row().classes("w-full gap-2").props("aria-label='Actions'")
        self._enable(False)
        # Not where somebody types; a button that has just been clicked keeps the focus.
        ui.keyboard(on_key=self._press, ignore=["input", "select", "textarea"])

    def _button(self, text: str, icon: str, act: Any) -> ui.button:
        return ui.button(text, icon=icon, on_click=act).props("outline no-caps")

    def _enable(self, is_on: bool) -> None:
        acts = self._request.policy is not None
        for button in (self._step_button, self._run_button):
            button.set_enabled(is_on and acts)
            button.set_visibility(acts)
        self._reset_button.set_enabled(is_on)

    async def start(self) -> None:
        """Start the process and the first episode; what is wrong is said in the picture's place."""
        self._process = PlayProcess(self._module, self._request.flags())
        if self._is_closed:
            self._process.close()
            return
        try:
            await asyncio.to_thread(self._process.start)
        except MosaicError as error:
            if not self._is_closed:
                self._why.set_text(error.one_line())
            return
        self._enable(True)
        await self.reset()

    # What the user does

    async def reset(self) -> None:
        seed = None if self._seed.value is None else int(self._seed.value)
        process = self._process
        if process is None:
            return
        async with self._turn:
            ready = await self._ask(lambda: process.reset(seed))
        if ready is None:
            return
        if ready["action_labels"] != self._labels or not list(self._actions):
            self._labels = ready["action_labels"]
            self._show_actions()
        self._note.set_text(f"Seed {ready['seed']}.")
        self._show(ready)

    async def step(self, action: int | None = None) -> None:
        """Take one step: the given action, or else what the policy chooses."""
        process = self._process
        if process is None:
            return
        async with self._turn:
            answer = await self._ask(lambda: process.step(action))
        if answer is None:
            self._stop()
            return
        step, done = answer
        if done is not None:
            self._note.set_text(
                f"Episode {done['episode_number']} is over: return {done['total_reward']:.3g} "
                f"after {done['episode_length']} steps. Reset begins another."
            )
            self._stop()
        self._show(step)

    async def take_over(self, action: int) -> None:
        """Act in the policy's place; it waits until it is told to run again."""
        self._stop()
        await self.step(action)

    async def toggle(self) -> None:
        if self._is_running:
            self._stop()
            return
        self._is_running = True
        self._run_button.set_text("Pause")
        self._run_button.set_icon("pause")
        while self._is_running and not self._is_closed:
            await self.step()
            await asyncio.sleep(1 / float(self._speed.value or _USUAL_SPEED))

    def _stop(self) -> None:
        self._is_running = False
        self._run_button.set_text("Run")
        self._run_button.set_icon("play_arrow")

    async def _press(self, event: KeyEventArguments) -> None:
        if not event.action.keydown or event.modifiers.ctrl or event.modifiers.meta:
            return
        name = event.key.name
        key = _ARROWS.get(name, name)
        actions = key_actions(self._labels)
        if key in actions:
            await self.take_over(actions[key])

    async def _ask(self, call: Any) -> Any:
        """Ask the process; what it refuses is told, and it goes on."""
        if self._is_closed:
            return None
        try:
            return await asyncio.to_thread(call)
        except MosaicError as error:
            if not self._is_closed:
                self._note.set_text(error.one_line())
            return None

    # What the user sees

    def _show(self, message: dict[str, Any]) -> None:
        if self._is_closed:
            return
        self._place.set_text(
            f"{self._request.title} · episode {message['episode_index']} · "
            f"step {message['step_index']} · return {message['episode_reward']:.3g}"
        )
        payload = message.get("render_payload")
        self._image.set_visibility(payload is not None)
        self._why.set_visibility(payload is None)
        if payload is None:
            self._why.set_text("The environment draws no pictures here.")
        else:
            self._image.props(f'src="{self._picture.show(payload)}"')

    def _show_actions(self) -> None:
        keys: dict[int, str] = {}
        for key, action in key_actions(self._labels).items():
            keys[action] = key
        self._actions.clear()
        with self._actions:
            for action, label in enumerate(self._labels):
                key = f" ({keys[action]})" if action in keys else ""
                ui.button(f"{label}{key}", on_click=lambda n=action: self.take_over(n)).props(
                    "flat dense no-caps"
                )
            if not self._labels:
                ui.label("Actions of this environment are numbers: only a policy acts here.")

    def close(self) -> None:
        """End the process; it goes with the page."""
        if self._is_closed:
            return
        self._is_closed = True
        self._is_running = False
        self._picture.close()
        if self._process is not None:
            process = self._process
            asyncio.get_running_loop().run_in_executor(None, process.close)
