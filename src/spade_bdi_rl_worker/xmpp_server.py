"""The XMPP server of a run: pyjabber, on the loopback interface and nowhere else.

pyjabber itself also binds the machine's own address, starts a web server for uploads, takes the
signals of the process and forks others. All four are left out here.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from spade_bdi_rl_worker.certificate import write_certificate

HOST = "localhost"
ADDRESS = "127.0.0.1"
_READY_S = 20.0
_STOP_S = 3.0


@contextlib.asynccontextmanager
async def serving(directory: Path) -> AsyncIterator[int]:
    """Serve for the length of the block; yield the port. Certificates go into the directory."""
    from loguru import logger

    logger.disable("pyjabber")
    server, port = _make_server(directory)
    tasks = _start(server)
    try:
        await _until_ready(server, tasks)
        yield port
    finally:
        for task in tasks:
            task.cancel()
        # Its database can wait for ever for a connection that somebody left in the middle. That is
        # in memory and ends with the process.
        await asyncio.wait(tasks, timeout=_STOP_S)
        _clean_up()


def _make_server(directory: Path) -> tuple[Any, int]:
    from pyjabber.server import Server
    from pyjabber.server_parameters import Parameters

    write_certificate(directory, HOST)
    port, between_servers = _free_ports(2)
    server = Server(
        Parameters(
            host=HOST,
            client_port=port,
            server_port=between_servers,
            database_in_memory=True,
            cert_path=str(directory),
            message_persistence=False,
        )
    )
    # Without an address of the machine it listens on its host alone, which is named by number:
    # a hosts file may say what it likes.
    server._public_ip = None
    server._host = ADDRESS
    _hash_in_a_thread()
    return server, port


def _hash_in_a_thread() -> None:
    """Hash passwords in this process: others, forked for it, outlived a worker that was killed."""
    from attrs import evolve
    from pyjabber import AppConfig

    forking = AppConfig.app_config.process_pool_exe
    AppConfig.app_config = evolve(
        AppConfig.app_config, process_pool_exe=ThreadPoolExecutor(1, "passwords")
    )
    forking.shutdown(wait=False)


def _start(server: Any) -> list[asyncio.Task[Any]]:
    """Start the parts of the server that route messages; its web server is never started."""
    from pyjabber.queues.QueueManager import QueueName, get_queue
    from pyjabber.queues.workers.MessageQueueWorker import queue_worker
    from pyjabber.queues.workers.ServerConnectionWorker import server_connection_worker

    for name in (QueueName.CONNECTIONS, QueueName.MESSAGES, QueueName.SERVERS):
        get_queue(name)
    work = (queue_worker(), server_connection_worker(), server.run_server())
    return [asyncio.create_task(each) for each in work]


async def _until_ready(server: Any, tasks: list[asyncio.Task[Any]]) -> None:
    ready = asyncio.create_task(server.ready.wait())
    done, _ = await asyncio.wait(
        [ready, *tasks], timeout=_READY_S, return_when=asyncio.FIRST_COMPLETED
    )
    if ready not in done:
        ready.cancel()
        for task in done:
            task.result()
        raise OSError("the XMPP server did not start")


def _clean_up() -> None:
    from pyjabber import AppConfig
    from pyjabber.plugins.xep_0363.upload_server import TEMP_DIR

    AppConfig.app_config.process_pool_exe.shutdown(wait=False, cancel_futures=True)
    shutil.rmtree(TEMP_DIR, ignore_errors=True)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((ADDRESS, 0))
        return [int(each.getsockname()[1]) for each in sockets]
