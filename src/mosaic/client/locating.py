"""Where the daemon of a data directory is: its lock, its `daemon.json` and its token."""

from __future__ import annotations

import fcntl
import json
import os
import re
from dataclasses import dataclass

from mosaic.contracts.errors import ConfigError, DaemonUnreachable
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.tokens import read_token

TARGET_VARIABLE = "MOSAIC_GRPC_TARGET"

_TARGET = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.\-]+):\d{1,5}")


@dataclass(frozen=True, slots=True)
class DaemonInfo:
    """What a daemon says of itself in `daemon.json`, which it writes once its port is open."""

    pid: int
    port: int

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.port}"


@dataclass(frozen=True, slots=True)
class Address:
    target: str
    token: str


def has_daemon(paths: VarPaths) -> bool:
    """Say whether a daemon lives: it holds the lock of its data directory as long as it does."""
    try:
        handle = os.open(paths.daemon_lock, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def read_info(paths: VarPaths) -> DaemonInfo | None:
    """Return what the living daemon wrote; None where it has not, or where a dead one did."""
    try:
        document = json.loads(paths.daemon_info.read_text(encoding="utf-8"))
        info = DaemonInfo(int(document["pid"]), int(document["port"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return info if _lives(info.pid) else None


def forced_target() -> str | None:
    """Return the address that the user set, which is taken as it is; nothing is started there."""
    target = os.environ.get(TARGET_VARIABLE)
    if target and not _TARGET.fullmatch(target):
        raise ConfigError(
            f"{TARGET_VARIABLE}={target!r} is not allowed: give host:port, such as 127.0.0.1:50055."
        )
    return target or None


def find_daemon(paths: VarPaths) -> Address | None:
    """Return the address of a daemon whose port is open; None where there is none (yet)."""
    target = forced_target()
    if target is None:
        info = read_info(paths) if has_daemon(paths) else None
        target = info.target if info is not None else None
    if target is None:
        return None
    token = read_token(paths.daemon_token)
    if token is None:
        raise DaemonUnreachable(
            f"The token {str(paths.daemon_token)!r} is missing, without which the daemon at "
            f"{target} answers nobody.",
            hint="Set MOSAIC_VAR_DIR to the daemon's data directory.",
        )
    return Address(target, token)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
