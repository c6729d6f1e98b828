"""The screen on which an environment is played in a terminal."""

from __future__ import annotations

import base64
import io
import shutil
import time
from typing import Any

import numpy as np

from mosaic.cli.keyboard import read_keys, single_keys
from mosaic.cli.terminal_pictures import draw
from mosaic.cli.view import other_screen
from mosaic.client.playing import PlayProcess
from mosaic.contracts.action_keys import key_actions
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.play_request import PlayRequest

_TEXT_LINES = 3
_SLOWEST, _FASTEST = 0.5, 60.0
_IDLE_S = 0.2
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


class PlayScreen:
    """Keys in, pictures out, until somebody leaves."""

    def __init__(
        self, process: PlayProcess, request: PlayRequest, protocol: str, speed: float
    ) -> None:
        self._process = process
        self._request = request
        self._protocol = protocol
        self._speed = min(max(speed, _SLOWEST), _FASTEST)
        self._is_running = request.policy is not None
        self._labels: list[str] = []
        self._last: dict[str, Any] = {}
        self._note = ""
        self._has_left = False

    def run(self, seed: int | None) -> None:
        with other_screen(), single_keys():
            self._reset(seed)
            while not self._has_left:
                started = time.monotonic()
                for key in read_keys(0.0 if self._is_running else _IDLE_S):
                    self._press(key)
                if self._is_running and not self._has_left:
                    self._step(None)
                    pause = 1 / self._speed - (time.monotonic() - started)
                    if pause > 0 and (keys := read_keys(pause)):
                        for key in keys:
                            self._press(key)

    def _press(self, key: str) -> None:
        actions = key_actions(self._labels)
        if key == "q":
            self._has_left = True
        elif key == "r":
            self._reset(None)
        elif key in "+-":
            faster = self._speed * (1.5 if key == "+" else 1 / 1.5)
            self._speed = min(max(faster, _SLOWEST), _FASTEST)
        elif key in " s" and self._request.policy is not None:
            self._is_running = key == " " and not self._is_running
            if key == "s":
                self._step(None)
        elif key in actions:
            self._is_running = False
            self._step(actions[key])

    def _reset(self, seed: int | None) -> None:
        ready = self._process.reset(seed)
        self._labels = ready["action_labels"]
        self._note = f"seed {ready['seed']}"
        self._show(ready)

    def _step(self, action: int | None) -> None:
        try:
            step, done = self._process.step(action)
        except ConfigError as error:
            self._note, self._is_running = error.one_line(), False
            self._show({})
            return
        if done is not None:
            self._note = (
                f"episode {done['episode_number']} is over: return {done['total_reward']:.3g} "
                f"after {done['episode_length']} steps; r begins anew"
            )
            self._is_running = False
        self._show(step)

    def _show(self, message: dict[str, Any]) -> None:
        self._last |= message
        columns, rows = shutil.get_terminal_size()
        parts = []
        payload = self._last.get("render_payload")
        if payload is not None:
            parts.append(draw(self._protocol, _pixels(payload), columns, rows - _TEXT_LINES))
        parts += [f"{text[: columns - 1]}{_CLEAR_LINE}" for text in self._texts()]
        print(_HOME + "\r\n".join(parts) + _CLEAR_BELOW, end="", flush=True)

    def _texts(self) -> list[str]:
        last = self._last
        who = "the policy" if self._is_running else "you"
        place = (
            f"{self._request.title} | episode {last['episode_index']} step {last['step_index']} "
            f"return {last['episode_reward']:.3g} | {who} at {self._speed:.3g} steps/s"
        )
        keys = {action: key for key, action in key_actions(self._labels).items()}
        legend = "  ".join(
            f"{keys[n]} {label}" for n, label in enumerate(self._labels) if n in keys
        )
        return [place, self._note, f"{legend}  space policy  s step  r reset  +/- speed  q leave"]


def _pixels(payload: dict[str, Any]) -> Any:
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(base64.b64decode(payload["data"]))).convert("RGB"))
