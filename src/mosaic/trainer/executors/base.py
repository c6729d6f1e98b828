"""What the daemon asks of a place where runs are started."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mosaic.contracts.paths import RunPaths
from mosaic.workers.process_tree import ProcessIdentity
from mosaic.workers.proxy.state import ProxyState

__all__ = ["Executor", "Launch", "ProxyState"]


@dataclass(frozen=True, slots=True)
class Launch:
    """A worker that is to be started, with its proxy beside it."""

    run_id: str
    mode: str
    command: Sequence[str]
    environment: Mapping[str, str]  # of the worker; written to a file, so nothing secret
    secrets: Mapping[str, str] = field(repr=False)  # of the worker too, handed on in memory alone
    registration: Mapping[str, Any]  # fields of RegisterWorkerRequest


class Executor(Protocol):
    """Starts runs somewhere and finds them again, also after the daemon's own death.

    What is known of a run lies on disk, written by its proxy; a new executor over the same data
    directory knows every run that the one before it started.
    """

    def start(self, launch: Launch) -> None:
        """Start the proxy, which starts the worker or, if that runs, takes it over."""

    def adopt(self, launch: Launch, worker: ProcessIdentity) -> None:
        """Start a proxy beside a worker that runs already."""

    def is_alive(self, run_id: str) -> bool:
        """Say whether the run's proxy runs."""

    def signal(self, run_id: str, number: signal.Signals) -> bool:
        """Send a signal to the run's worker; False where there is none."""

    def files(self, run_id: str, mode: str) -> RunPaths:
        """Say where the run's files are."""

    def worker_state(self, run_id: str) -> ProxyState | None:
        """Return what the proxy wrote last; None where it never began."""

    def kill(self, run_id: str) -> int:
        """Kill every process of the run, its proxy included, and return how many there were."""
