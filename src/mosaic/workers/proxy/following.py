"""The life of a proxy beside its worker, and after it."""

from __future__ import annotations

import asyncio
import logging
import time

from mosaic.contracts.errors import EXIT_OK
from mosaic.workers.proxy.commands import Commands
from mosaic.workers.proxy.ending import end_worker
from mosaic.workers.proxy.launch import Launch
from mosaic.workers.proxy.link import Link
from mosaic.workers.proxy.starting import Beginning, own_identity
from mosaic.workers.proxy.state import ProxyState, WorkerEnd

_LOG = logging.getLogger(__name__)

_TICK_S = 0.05  # the longest time until the end of the worker is noticed
# A daemon that is away for longer finds the end in the proxy's state and in the spool.
_PATIENCE_S = 60.0


def follow(launch: Launch, beginning: Beginning, *, patience_s: float = _PATIENCE_S) -> int:
    """Stay beside the worker until it has ended and the daemon has stored everything."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    return asyncio.run(_Following(launch, beginning, patience_s).run())


class _Following:
    def __init__(self, launch: Launch, beginning: Beginning, patience_s: float) -> None:
        self._launch = launch
        self._worker = beginning.worker
        self._end = beginning.end
        self._patience_s = patience_s
        self._commands = Commands(beginning.worker)
        self._link = Link(launch, self._worker, self._commands)

    async def run(self) -> int:
        link = asyncio.create_task(self._link.run())
        try:
            end = self._end or await self._follow_worker(link)
            self._link.report(end)
            await self._wait_for_daemon(link)
        finally:
            link.cancel()
            await asyncio.wait([link])
        return EXIT_OK

    async def _follow_worker(self, link: asyncio.Task[None]) -> WorkerEnd:
        while not self._worker.has_ended():
            await self._commands.act()
            await asyncio.sleep(_TICK_S)
            if link.done():
                link.result()  # a bug: this process ends with its traceback, and is started again
        stderr = self._launch.paths.worker_stderr
        end = await end_worker(self._worker, self._commands, stderr)
        _LOG.info("the worker has ended: %s", end)
        self._note(end)
        return end

    def _note(self, end: WorkerEnd) -> None:
        """Write the end down before it is sent: whoever comes after this proxy needs it."""
        state = ProxyState(own_identity(), "ended", self._worker.identity, end)
        try:
            state.write(self._launch.paths.state)
        except OSError as error:  # a full disk: the daemon is still told
            _LOG.error("the end could not be written down: %s", error)

    async def _wait_for_daemon(self, link: asyncio.Task[None]) -> None:
        """Wait until the daemon says that it has the end; not for ever on one that is away."""
        ended_at = time.monotonic()
        while not link.done():
            last_contact = max(ended_at, self._link.last_contact)
            if not self._link.is_connected and time.monotonic() > last_contact + self._patience_s:
                _LOG.warning("no daemon for %g s: it finds the rest on disk", self._patience_s)
                return
            await asyncio.sleep(_TICK_S)
        link.result()
