"""`mosaic versus` in a process of its own: what was asked, and the one object that it prints."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.errors import ConfigError, StorageError
from mosaic.contracts.paths import VarPaths

MOST_EPISODES = 1_000
_KILL_AFTER_S = 5.0


@dataclass(frozen=True, slots=True)
class Match:
    """Who plays what, and how often."""

    contenders: tuple[str, ...]
    env_id: str = ""
    episodes: int = 10
    seed: int = 1

    def words(self) -> list[str]:
        """Return the words after `mosaic`."""
        if len(self.contenders) < 2:
            raise ConfigError("Name at least two contenders, each on a line of its own.")
        flags = [name for name in (*self.contenders, self.env_id) if name.startswith("-")]
        if flags:
            raise ConfigError(f"{flags[0]!r} is a flag, and no contender.")
        env = ["--env-id", self.env_id] if self.env_id else []
        return [
            *("versus", *self.contenders, *env),
            *("--episodes", str(self.episodes), "--seed", str(self.seed)),
        ]


def read_contenders(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


async def play(paths: VarPaths, match: Match) -> dict[str, Any]:
    """Let them play, and return what each did; who stops waiting ends it."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "mosaic.cli", *match.words(), "--json"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "MOSAIC_VAR_DIR": str(paths.root)},
    )
    try:
        out, told = await process.communicate()
    finally:
        await _end(process)
    if process.returncode != 0:
        raise ConfigError(_last_line(told) or f"It ended with {process.returncode}.")
    try:
        return dict(json.loads(out))
    except ValueError:
        raise StorageError("It printed something else than a result.") from None


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask it to end, and with it the actors; who does not listen is killed."""
    if process.returncode is not None:
        return
    process.terminate()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _KILL_AFTER_S)
        return
    process.kill()
    await process.wait()


def _last_line(told: bytes) -> str:
    lines = told.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("mosaic: ") if lines else ""


def match_rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the table, the best mean first."""
    found: Sequence[dict[str, Any]] = result["contenders"]
    ranked = sorted(enumerate(found), key=lambda pair: -pair[1]["mean_return"])
    return [
        {
            "place": place,
            "name": each["name"],
            "mean": f"{each['mean_return']:.3f}",
            "median": f"{each['median_return']:.3f}",
            "best": f"{each['max_return']:g}",
            "worst": f"{each['min_return']:g}",
            "steps": f"{each['mean_length']:.1f}",
            "wins": each["wins"],
        }
        for place, each in ranked
    ]
