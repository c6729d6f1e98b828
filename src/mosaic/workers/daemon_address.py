"""Where the trainer daemon of a data directory answers."""

from __future__ import annotations

import json
import os

from mosaic.contracts.paths import VarPaths

TARGET_VARIABLE = "MOSAIC_GRPC_TARGET"
DEFAULT_TARGET = "127.0.0.1:50055"


def find_target(paths: VarPaths, given: str | None = None) -> str:
    """Return host and port: what was given, else the variable's, else the running daemon's."""
    return given or os.environ.get(TARGET_VARIABLE) or _announced(paths) or DEFAULT_TARGET


def _announced(paths: VarPaths) -> str | None:
    """Return the address of the daemon that wrote daemon.json; None where there is none."""
    try:
        port = json.loads(paths.daemon_info.read_bytes())["port"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return f"127.0.0.1:{port}" if isinstance(port, int) else None
