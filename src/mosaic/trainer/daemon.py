"""The process: one for a data directory, recovered before its port opens."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from grpc import aio

from mosaic import __version__
from mosaic.contracts.errors import ConfigError, StorageError
from mosaic.contracts.files import make_directory, read_json, write_json_whole
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.settings import load_trainer_settings
from mosaic.contracts.tokens import make_token
from mosaic.proto.trainer_pb2_grpc import add_TrainerServicer_to_server
from mosaic.trainer import log
from mosaic.trainer.auth import TokenInterceptor, Tokens
from mosaic.trainer.bus import RunBus
from mosaic.trainer.desk import Desk
from mosaic.trainer.disposal import Disposal
from mosaic.trainer.executors.local import LocalExecutor
from mosaic.trainer.health import HealthReport
from mosaic.trainer.journal import Journal
from mosaic.trainer.recorded import Recorded
from mosaic.trainer.recovery import recover
from mosaic.trainer.resources import find_machine
from mosaic.trainer.service import TrainerService
from mosaic.trainer.starter import Starter
from mosaic.trainer.store.store import Store
from mosaic.trainer.streams import Streams
from mosaic.trainer.supervisor import Supervisor
from mosaic.trainer.upkeep import Upkeep

HOST = "127.0.0.1"
MESSAGE_BYTES = 64 << 20

_OPTIONS = [
    ("grpc.max_send_message_length", MESSAGE_BYTES),
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    # Otherwise a second daemon, of another data directory, would share the port.
    ("grpc.so_reuseport", 0),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
]
_STOP_GRACE_S = 1.0
_LOCK_WAIT_S = 0.3


def run_daemon(paths: VarPaths, *, port: int | None = None) -> None:
    """Serve until told to stop; runs go on without the daemon, and are found again."""
    make_directory(paths.trainer, what="The data directory")
    with _only_one(paths):
        log.open_log(paths.daemon_log)
        # SQLite lets go of the interpreter at every row, and would wait 5 ms for it each time.
        sys.setswitchinterval(0.001)
        asyncio.run(_serve(paths, port))


@contextlib.contextmanager
def _only_one(paths: VarPaths) -> Iterator[None]:
    """Hold the lock of the data directory; the kernel lets go of it however this process ends."""
    handle = os.open(paths.daemon_lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _lock(handle):
            raise ConfigError(
                f"A daemon serves {str(paths.root)!r} already{_whom(paths.daemon_info)}.",
                hint="'mosaic daemon status' shows it, 'mosaic daemon stop' stops it.",
            )
        paths.daemon_info.unlink(missing_ok=True)  # of one that was killed
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    """Take the lock; clients that look whether it is held do so for a moment."""
    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)


def _whom(info: Path) -> str:
    try:
        found = read_json(info, what="daemon.json")
        return f": pid {found['pid']}, port {found['port']}"
    except (ConfigError, KeyError, TypeError):
        return ""


async def _serve(paths: VarPaths, port: int | None) -> None:
    settings = load_trainer_settings(paths.settings)
    tokens = Tokens(make_token(paths.daemon_token))
    store = Store.open(paths)
    bus = RunBus()
    journal = Journal(store, bus)
    desk = Desk(paths)
    executor = LocalExecutor(paths)
    starter = Starter(journal, executor, find_machine(settings), paths, tokens)
    supervisor = Supervisor(journal, starter, desk, grace_s=settings.stop_grace_s)
    disposal = Disposal(supervisor, paths)
    await recover(supervisor)
    await disposal.recover()
    server = aio.server(interceptors=(TokenInterceptor(tokens),), options=_OPTIONS)
    bound = _bind(server, settings.port if port is None else port)
    target = f"{HOST}:{bound}"
    streams = Streams(supervisor, bus, paths)
    health = HealthReport(supervisor, paths, target)
    recorded = Recorded(supervisor, bus)
    service = TrainerService(supervisor, tokens, streams, recorded, desk, disposal, health)
    add_TrainerServicer_to_server(service, server)
    await server.start()
    _announce(paths, bound)
    await starter.start_what_fits()
    upkeep = Upkeep(supervisor, disposal, settings)
    duties = (upkeep.watch(), upkeep.sweep(), upkeep.sweep_lanes())
    tasks = [asyncio.create_task(duty) for duty in duties]
    try:
        await _until_stopped()
    finally:
        log.say("daemon_stopped", None, "the runs go on")
        for task in tasks:
            task.cancel()
        paths.daemon_info.unlink(missing_ok=True)
        await server.stop(_STOP_GRACE_S)
        store.close()


def _bind(server: aio.Server, port: int) -> int:
    """Open the port, or a free one where it is taken."""
    for wanted in (port, 0):
        with contextlib.suppress(RuntimeError):
            bound = server.add_insecure_port(f"{HOST}:{wanted}")
            if bound:
                return bound
    raise StorageError(f"No port of {HOST} can be opened.")


def _announce(paths: VarPaths, port: int) -> None:
    document = {
        "pid": os.getpid(),
        "port": port,
        "version": __version__,
        "started_at": time.time(),
    }
    write_json_whole(paths.daemon_info, document)
    log.say("daemon_started", None, f"pid {os.getpid()}, port {port}, {paths.root}")


async def _until_stopped() -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
