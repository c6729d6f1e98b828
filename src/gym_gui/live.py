"""What the daemon says, kept in one place for every open page."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gym_gui.boards import Boards
from gym_gui.frames import Cameras
from mosaic.client.asynchronous import AsyncClient
from mosaic.client.connecting import connect_async
from mosaic.contracts.errors import DaemonUnreachable, MosaicError
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.states import is_terminal, read_state
from mosaic.proto import trainer_pb2 as pb

_LOG = logging.getLogger(__name__)

_HEALTH_INTERVAL_S = 2.0
_RETRY_S = 1.0
# Starting a daemon takes a second or two, on a busy machine more.
_FIRST_PATIENCE_S = 20.0
_CONNECTING = "connecting"
# Ended runs that stay at hand, so that a card does not vanish the moment its run ends.
_KEPT_ENDED = 50


@dataclass(slots=True)
class Live:
    """The unfinished runs and the daemon's health. Pages look here once a second.

    `revision` counts up with every change, so that a page redraws only what is new.
    """

    paths: VarPaths
    client: AsyncClient | None = None
    health: pb.Health | None = None
    away_because: str = _CONNECTING
    away_since: float = field(default_factory=time.time)
    revision: int = 0
    runs: dict[str, pb.Run] = field(default_factory=dict)
    cameras: Cameras = field(default_factory=Cameras)
    boards: Boards = field(default_factory=Boards)
    _listeners: list[Callable[[pb.Run], None]] = field(default_factory=list)

    @property
    def is_connected(self) -> bool:
        return not self.away_because

    @property
    def is_away(self) -> bool:
        """Say whether the daemon was there and is not, or cannot be reached at all."""
        return bool(self.away_because) and self.away_because != _CONNECTING

    def unfinished(self) -> list[pb.Run]:
        """Return the runs that have not ended, newest first."""
        found = [run for run in self.runs.values() if not is_terminal(read_state(run.state))]
        return sorted(found, key=lambda run: run.created_at, reverse=True)

    def listen(self, listener: Callable[[pb.Run], None]) -> None:
        """Call this with every change of a run."""
        self._listeners.append(listener)

    async def await_client(self) -> AsyncClient:
        """Return the client; who acts while the GUI is still starting waits for the daemon."""
        end = time.monotonic() + _FIRST_PATIENCE_S
        while self.away_because == _CONNECTING and time.monotonic() < end:
            await asyncio.sleep(0.1)
        return self.need_client()

    def need_client(self) -> AsyncClient:
        """Return the client, or say why there is none."""
        if self.client is None or not self.is_connected:
            raise DaemonUnreachable(f"The daemon is away: {self.away_because}.")
        return self.client

    async def follow(self, *, start: bool = True) -> None:
        """Stay connected for as long as the GUI runs; start the daemon the first time."""
        while True:
            try:
                client = self.client = await connect_async(self.paths, start=start)
                async with client:
                    await self._follow(client)
            except MosaicError as error:
                self._went_away(error.one_line())
            start = False  # one that was stopped on purpose stays stopped; a button starts it
            await asyncio.sleep(_RETRY_S)

    async def start_daemon(self) -> None:
        """Start the daemon that is away; what follows reconnects by itself."""
        client = await connect_async(self.paths, start=True)
        await client.close()

    async def _follow(self, client: AsyncClient) -> None:
        health = asyncio.create_task(self._follow_health(client))
        try:
            await self._follow_runs(client)
        finally:
            health.cancel()

    async def _follow_health(self, client: AsyncClient) -> None:
        while True:
            try:
                self.health = await client.health()
            except MosaicError:
                return  # the stream of runs breaks as well, and says why
            self.away_because = ""
            self.revision += 1
            await asyncio.sleep(_HEALTH_INTERVAL_S)

    async def _follow_runs(self, client: AsyncClient) -> None:
        snapshot: set[str] | None = set()
        async for update in client.watch_runs(only_unfinished=True):
            if update.is_snapshot_end:
                self._forget_all_but(snapshot or set())
                snapshot = None
            elif update.is_removed:
                self.runs.pop(update.run.run_id, None)
            else:
                if snapshot is not None:
                    snapshot.add(update.run.run_id)
                self._take(update.run)
            self.revision += 1

    def _take(self, run: pb.Run) -> None:
        self.runs.pop(run.run_id, None)
        self.runs[run.run_id] = run
        ended = [each.run_id for each in self.runs.values() if each.outcome]
        for run_id in ended[:-_KEPT_ENDED]:
            del self.runs[run_id]
        for listener in self._listeners:
            listener(run)

    def _forget_all_but(self, unfinished: set[str]) -> None:
        """Drop what ended while nobody was connected: its last state is not known here."""
        for run in list(self.runs.values()):
            if not run.outcome and run.run_id not in unfinished:
                del self.runs[run.run_id]

    def _went_away(self, reason: str) -> None:
        if self.is_connected or self.away_because != reason:
            _LOG.warning("the daemon is away: %s", reason)
        if self.is_connected:
            self.away_since = time.time()
        self.away_because = reason
        self.revision += 1
