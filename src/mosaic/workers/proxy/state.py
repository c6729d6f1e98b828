"""What a proxy knows of its worker, on disk: a later proxy, or the daemon, goes on from there."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from mosaic.contracts.files import write_json_whole
from mosaic.workers.process_tree import ProcessIdentity

Phase = Literal["launching", "running", "ended"]


@dataclass(frozen=True, slots=True)
class WorkerEnd:
    """How the worker ended. `was_seen` is false where the end was found, but no exit code."""

    exit_code: int | None = None
    signal: int | None = None
    was_seen: bool = False
    last_lines: tuple[str, ...] = ()
    killed_leftovers: int = 0


@dataclass(frozen=True, slots=True)
class ProxyState:
    """`phase` "ended" says that no process is left, not that every event was sent."""

    proxy: ProcessIdentity
    phase: Phase
    worker: ProcessIdentity | None = None
    exit: WorkerEnd | None = None

    def write(self, path: Path) -> None:
        document = {
            "proxy": self.proxy._asdict(),
            "phase": self.phase,
            "worker": None if self.worker is None else self.worker._asdict(),
            "exit": None if self.exit is None else asdict(self.exit),
        }
        write_json_whole(path, document)


def read_state(path: Path) -> ProxyState | None:
    """Return the state that a proxy wrote; None where there is none that can be read."""
    try:
        document = json.loads(path.read_bytes())
        return ProxyState(
            proxy=ProcessIdentity(**document["proxy"]),
            phase=document["phase"],
            worker=_identity(document["worker"]),
            exit=_end(document["exit"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _identity(fields: Any) -> ProcessIdentity | None:
    return None if fields is None else ProcessIdentity(**fields)


def _end(fields: Any) -> WorkerEnd | None:
    if fields is None:
        return None
    return WorkerEnd(**{**fields, "last_lines": tuple(fields["last_lines"])})
