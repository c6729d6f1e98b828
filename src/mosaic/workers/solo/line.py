"""The line to the table: JSON in, JSON out, over a socket or over stdin and stdout."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from mosaic.contracts.events import finite
from mosaic.contracts.interactive import LINE_LIMIT_BYTES, make_socket_directory
from mosaic.workers.solo.table import Table

_POLL_S = 0.2


def serve_pipes(table: Table) -> None:
    """Play over stdin and stdout until `stop`, or until the other side goes."""
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what else is printed must not be taken for an answer
    _greet(table, out)
    for line in sys.stdin.buffer:
        _answer(table, line, out)
        if table.is_stopped:
            return


def serve_socket(
    table: Table, path: Path, should_stop: Callable[[], bool], idle_limit_s: float
) -> None:
    """Play over a socket: one visitor at a time, the next may go on where the last one left."""
    make_socket_directory()
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        path.chmod(0o600)
        server.listen(1)
        server.settimeout(_POLL_S)
        last = time.monotonic()
        try:
            while not table.is_stopped and not should_stop():
                if time.monotonic() - last > idle_limit_s:
                    return
                try:
                    connection, _ = server.accept()
                except TimeoutError:
                    continue
                with connection:
                    _receive(table, connection, should_stop)
                last = time.monotonic()
        finally:
            path.unlink(missing_ok=True)


def _receive(table: Table, connection: socket.socket, should_stop: Callable[[], bool]) -> None:
    connection.settimeout(_POLL_S)
    out = connection.makefile("wb", buffering=0)
    waiting = b""
    try:
        _greet(table, out)
        while not table.is_stopped and not should_stop():
            try:
                data = connection.recv(1 << 16)
            except TimeoutError:
                continue
            if not data or len(waiting) > LINE_LIMIT_BYTES:
                return
            *lines, waiting = (waiting + data).split(b"\n")
            for line in lines:
                _answer(table, line, out)
    except OSError:  # the visitor has gone
        return


def _greet(table: Table, out: BinaryIO | Any) -> None:
    _write(out, table.greeting())


def _answer(table: Table, line: bytes, out: BinaryIO | Any) -> None:
    if not line.strip():
        return
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        _write(out, {"type": "error", "message": "The line is no JSON."})
        return
    for answer in table.answer(message):
        _write(out, answer)


def _write(out: BinaryIO | Any, message: dict[str, Any]) -> None:
    data = json.dumps(finite(message), separators=(",", ":")).encode() + b"\n"
    view = memoryview(data)
    while view:
        view = view[out.write(view) :]
