"""TensorBoards: one process for each set of runs that somebody looks at, while they look."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic.contracts.errors import DependencyMissing, StorageError
from mosaic.contracts.installed import is_installed
from mosaic.contracts.secrets import is_secret

if TYPE_CHECKING:
    import httpx

_LOG = logging.getLogger(__name__)

PREFIX = "/tensorboard/"

# Each holds about 150 MB.
MOST_BOARDS = 4
IDLE_S = 60.0
_START_S = 60.0
_POLL_S = 0.1


@dataclass(eq=False, slots=True)
class Board:
    """One TensorBoard. `home` holds its socket and a link to the event files of each run."""

    key: str
    folders: Mapping[str, Path]
    home: Path
    process: subprocess.Popen[bytes]
    used_at: float = field(default_factory=time.monotonic)
    client: httpx.AsyncClient = field(init=False)

    def __post_init__(self) -> None:
        import httpx  # here: it takes 6 MB, and most people never open a TensorBoard

        transport = httpx.AsyncHTTPTransport(uds=str(self.home / "socket"))
        self.client = httpx.AsyncClient(
            transport=transport, base_url="http://tensorboard", timeout=60.0, trust_env=False
        )

    @property
    def address(self) -> str:
        return f"{PREFIX}{self.key}/"

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def touch(self) -> None:
        """Note that somebody looks at it."""
        self.used_at = time.monotonic()

    async def is_ready(self) -> bool:
        """Wait until it answers; False where it ended instead."""
        import httpx

        deadline = time.monotonic() + _START_S
        while self.is_alive and time.monotonic() < deadline:
            with contextlib.suppress(httpx.TransportError):
                answer = await self.client.get(f"{self.address}data/environment")
                return answer.status_code == httpx.codes.OK
            await asyncio.sleep(_POLL_S)
        return False

    def last_words(self) -> str:
        with contextlib.suppress(OSError):
            text = (self.home / "log").read_text(encoding="utf-8", errors="replace")
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            return lines[-1] if lines else ""
        return ""

    async def close(self) -> None:
        await self.client.aclose()
        assert self.process.stdin is not None
        self.process.stdin.close()  # it ends by itself
        try:
            await asyncio.to_thread(self.process.wait, 5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            await asyncio.to_thread(self.process.wait)
        await asyncio.to_thread(shutil.rmtree, self.home, True)


class Boards:
    """The TensorBoards of this GUI. Those that nobody looks at are stopped."""

    def __init__(self) -> None:
        self._boards: dict[str, Board] = {}

    def open(self, folders: Mapping[str, Path]) -> Board:
        """Return the board of these folders of event files, each under its name; start it."""
        for board in self._boards.values():
            if dict(board.folders) == dict(folders) and board.is_alive:
                board.touch()
                return board
        board = _start(folders)
        self._boards[board.key] = board
        return board

    def find(self, key: str) -> Board | None:
        return self._boards.get(key)

    def newest(self) -> Board | None:
        return max(self._boards.values(), key=lambda board: board.used_at, default=None)

    async def stop(self, board: Board) -> None:
        if self._boards.pop(board.key, None) is not None:
            await board.close()

    async def keep(self) -> None:
        """Stop what is idle, dead or too much, for as long as the GUI runs."""
        try:
            while True:
                await asyncio.sleep(1.0)
                for board in self._superfluous():
                    await self.stop(board)
        finally:
            for board in list(self._boards.values()):
                assert board.process.stdin is not None
                board.process.stdin.close()
                shutil.rmtree(board.home, ignore_errors=True)

    def _superfluous(self) -> list[Board]:
        newest = sorted(self._boards.values(), key=lambda board: board.used_at, reverse=True)
        oldest = time.monotonic() - IDLE_S
        return [
            board
            for place, board in enumerate(newest)
            if place >= MOST_BOARDS or board.used_at < oldest or not board.is_alive
        ]


def _start(folders: Mapping[str, Path]) -> Board:
    if not is_installed("tensorboard"):
        raise DependencyMissing("TensorBoard is not installed.", hint="Install 'mosaic-rl'.")
    key = secrets.token_urlsafe(8)
    try:
        # Only this user can enter it, and with it reach the socket.
        home = Path(tempfile.mkdtemp(prefix="mosaic-tensorboard-"))
        logdir = home / "runs"
        logdir.mkdir()
        for name, folder in folders.items():
            (logdir / name).symlink_to(folder.absolute(), target_is_directory=True)
        process = _spawn(home, logdir, key)
    except OSError as error:
        raise StorageError(f"TensorBoard cannot be started: {error}.") from None
    _LOG.info("TensorBoard %s shows %s", key, ", ".join(folders))
    return Board(key, dict(folders), home, process)


def _spawn(home: Path, logdir: Path, key: str) -> subprocess.Popen[bytes]:
    words = [str(home / "socket"), str(logdir), f"{PREFIX}{key}"]
    environment = {name: text for name, text in os.environ.items() if not is_secret(name)}
    with (home / "log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "gym_gui.tensorboard_server", *words],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=home,
            env=environment,
            start_new_session=True,
        )
