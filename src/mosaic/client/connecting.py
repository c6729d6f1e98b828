"""From a data directory to a client of its daemon."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mosaic.client.starting import ensure_daemon, no_answer
from mosaic.contracts.errors import DependencyMissing
from mosaic.contracts.paths import VarPaths

if TYPE_CHECKING:
    from mosaic.client.asynchronous import AsyncClient
    from mosaic.client.blocking import Client

# A daemon that was just killed may still hold its lock and its port; then it is looked for again.
_ATTEMPTS = 3
_ANSWER_S = 2.0


def connect(paths: VarPaths, *, start: bool = True) -> Client:
    """Return a client of the daemon of this data directory; start one where there is none.

    `MOSAIC_GRPC_TARGET` names a daemon that is elsewhere; then nothing is started.
    """
    # The daemon starts before gRPC is imported here: the one does not wait for the other.
    address = ensure_daemon(paths, start=start)
    _prepare_grpc()
    from mosaic.client.blocking import Client

    for _ in range(_ATTEMPTS):
        client = Client(address.target, address.token)
        if client.is_answered(_ANSWER_S):
            return client
        client.close()
        address = ensure_daemon(paths, start=start)
    raise no_answer(address.target)


async def connect_async(paths: VarPaths, *, start: bool = True) -> AsyncClient:
    """Return the same for an event loop, which does not stand still meanwhile."""
    import asyncio

    address = await asyncio.to_thread(ensure_daemon, paths, start=start)
    _prepare_grpc()
    from mosaic.client.asynchronous import AsyncClient

    for _ in range(_ATTEMPTS):
        client = AsyncClient(address.target, address.token)
        if await client.is_answered(_ANSWER_S):
            return client
        await client.close()
        address = await asyncio.to_thread(ensure_daemon, paths, start=start)
    raise no_answer(address.target)


def _prepare_grpc() -> None:
    # Its own log lines would stand between ours; every failure reaches us as an exception.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        import grpc  # noqa: F401
    except ImportError:
        raise DependencyMissing(
            "The trainer daemon needs gRPC, which is not installed.",
            hint="Install 'mosaic-rl[trainer]', or train with --local.",
        ) from None
