"""The interactive protocol from the GUI's side: an environment in another process, line by line."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.interactive import LINE_LIMIT_BYTES

_ANSWER_S = 30.0


class Line:
    """A line to an environment. One command at a time; each returns its answers."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        process: asyncio.subprocess.Process | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._process = process
        self._lock = asyncio.Lock()

    @classmethod
    async def over_socket(cls, path: Path) -> Line:
        """Connect to a worker that listens; an OSError says that none does yet."""
        reader, writer = await asyncio.open_unix_connection(str(path), limit=LINE_LIMIT_BYTES)
        line = cls(reader, writer)
        await line._read()
        return line

    @classmethod
    async def to_process(cls, module: str, *flags: str) -> Line:
        """Start a player of one's own, which ends with this line."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", module, "--interactive", *flags),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LINE_LIMIT_BYTES,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        line = cls(process.stdout, process.stdin, process)
        try:
            await line._read()
        except (TimeoutError, asyncio.CancelledError):
            await line.close()
            raise
        except ConnectionError:
            assert process.stderr is not None
            said = (await process.stderr.read()).decode(errors="replace").strip()
            await line.close()
            raise ConfigError(said.splitlines()[-1] if said else "The player ended.") from None
        return line

    async def reset(self, seed: int | None = None) -> dict[str, Any]:
        [ready] = await self._ask({"cmd": "reset", "seed": seed})
        return ready

    async def step(self, action: int) -> list[dict[str, Any]]:
        """Return the step, and the end of the episode where that was its last."""
        return await self._ask({"cmd": "step", "action": action})

    async def stop(self) -> None:
        with contextlib.suppress(OSError, ConfigError):
            await self._ask({"cmd": "stop"})
        await self.close()

    async def _ask(self, command: dict[str, Any]) -> list[dict[str, Any]]:
        async with self._lock:
            self._writer.write(json.dumps(command).encode() + b"\n")
            await self._writer.drain()
            answers = [await self._read()]
            if answers[0]["type"] == "error":
                raise ConfigError(str(answers[0]["message"]))
            last = answers[0]
            if last["type"] == "step" and (last["terminated"] or last["truncated"]):
                answers.append(await self._read())
            return answers

    async def _read(self) -> dict[str, Any]:
        line = await asyncio.wait_for(self._reader.readline(), _ANSWER_S)
        if not line:
            raise ConnectionError("the player has gone")
        return dict(json.loads(line))

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
