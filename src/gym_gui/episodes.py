"""Recorded episodes with their pictures: those that were stored, or drawn again.

An episode is given by its environment, its seed and its actions. Where its steps brought no
picture, a child process plays it again and draws each; the rewards must be those that were stored.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from typing import Any

from gym_gui.lines import Line
from gym_gui.live import Live
from mosaic.contracts.errors import ConfigError

PLAYER = "human_worker.cli"


@dataclass(frozen=True, slots=True)
class Shot:
    """A moment: the picture, and the step that led to it; the first has none."""

    picture: str  # a data URL; empty: there is none
    step: dict[str, Any] | None = None


@dataclass(slots=True)
class Replay:
    shots: list[Shot] = field(default_factory=list)
    note: str = ""  # why there are no pictures, or why not to trust them


async def read_steps(live: Live, run_id: str, episode_index: int) -> list[dict[str, Any]]:
    feed = live.need_client().steps(run_id, episode_index=episode_index)
    return [json.loads(line) async for update in feed for line in update.lines]


async def read_episodes(live: Live, run_id: str, **options: Any) -> list[dict[str, Any]]:
    feed = live.need_client().episodes(run_id, **options)
    return [json.loads(line) async for update in feed for line in update.lines]


async def count_episodes(live: Live, run_id: str) -> int:
    total = 0
    async for update in live.need_client().episodes(run_id, only_new=True):
        total = max(total, update.total)
    return total


def picture_of(step: dict[str, Any]) -> str:
    payload = step.get("render_payload")
    if not isinstance(payload, dict) or payload.get("mode") != "jpeg":
        return ""
    return f"data:image/jpeg;base64,{payload.get('data', '')}"


class Painter:
    """Draws episodes again: one process for as long as somebody looks at an environment's runs."""

    def __init__(self, env_id: str) -> None:
        self._env_id = env_id
        self._line: Line | None = None

    async def draw(self, seed: int, steps: list[dict[str, Any]]) -> Replay:
        """Play an episode again, and take a picture of each step."""
        try:
            if self._line is None:
                self._line = await Line.to_process(PLAYER, "--env-id", self._env_id)
            return await draw(self._line, seed, steps)
        except BaseException:
            await self.close()  # what it was asked is not answered: the next one begins anew
            raise

    async def close(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            with contextlib.suppress(OSError):
                await line.close()


async def open_replay(live: Live, run_id: str, painter: Painter, episode_index: int) -> Replay:
    """Return an episode with a picture of every step."""
    steps = await read_steps(live, run_id, episode_index)
    if not steps:
        return Replay(note="The steps of this episode are not stored any more.")
    if all(picture_of(step) for step in steps):
        return Replay([Shot(picture_of(step), step) for step in steps])
    seed = steps[0].get("episode_seed")
    if seed is None or not all(isinstance(step["action"], int) for step in steps):
        return Replay([Shot("", step) for step in steps], "It has no seed to be drawn from.")
    try:
        return await painter.draw(seed, steps)
    except (ConfigError, OSError, TimeoutError) as error:
        return Replay([Shot("", step) for step in steps], f"It cannot be drawn: {error}")


async def draw(line: Line, seed: int, steps: list[dict[str, Any]]) -> Replay:
    """Play an episode over a line, and compare what it gives with what was stored."""
    first = await line.reset(seed)
    replay = Replay([Shot(picture_of(first))])
    for step in steps:
        played = (await line.step(step["action"]))[0]
        if played["reward"] != step["reward"]:
            replay.note = (
                f"Step {step['step_index']} gave {step['reward']} and now gives "
                f"{played['reward']}: the pictures are not those of this episode."
            )
        replay.shots.append(Shot(picture_of(played), step))
    return replay
