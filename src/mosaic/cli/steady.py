"""Streams that go on after the daemon has been away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from mosaic.client.connecting import connect
from mosaic.contracts.errors import DaemonUnreachable
from mosaic.contracts.paths import VarPaths

if TYPE_CHECKING:
    from types import TracebackType

    from mosaic.client.blocking import Client

T = TypeVar("T")

AWAY_TIMEOUT_S = 30.0
_RETRY_S = 0.2


class SteadyClient:
    """A client that is replaced when its daemon is. Threads may share it.

    A daemon that crashed is started again: runs queue behind it. One that was stopped is waited
    for, since somebody wanted it to be gone.
    """

    def __init__(self, paths: VarPaths) -> None:
        self._paths = paths
        self._lock = threading.Lock()
        self._is_closed = False
        self.client = connect(paths)

    def __enter__(self) -> SteadyClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_closed = True
        self.client.close()

    def call(self, make: Callable[[Client], T]) -> T:
        """Make a call that may be repeated."""
        client = self.client
        try:
            return make(client)
        except DaemonUnreachable:
            return make(self._reconnect(client))

    def stream(self, open_stream: Callable[[Client], Iterator[T]]) -> Iterator[T]:
        """Read a stream to its end; one that breaks is opened again, and may repeat itself."""
        while not self._is_closed:
            client = self.client
            try:
                yield from open_stream(client)
                return
            except DaemonUnreachable:
                time.sleep(_RETRY_S)
                if not self._is_closed:
                    self._reconnect(client)

    def _reconnect(self, broken: Client) -> Client:
        with self._lock:
            if self.client is broken:
                self.client = self._connect_again()
                broken.close()
            return self.client

    def _connect_again(self) -> Client:
        deadline = time.monotonic() + AWAY_TIMEOUT_S
        while True:
            try:
                # A daemon that ends as it was asked to takes its daemon.json away.
                return connect(self._paths, start=self._paths.daemon_info.exists())
            except DaemonUnreachable:
                if time.monotonic() > deadline or self._is_closed:
                    raise
            time.sleep(_RETRY_S)
