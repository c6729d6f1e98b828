"""What a worker of one process says of itself, and what its runs can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.workers.solo.recorder import RunRecorder
from mosaic.workers.solo.settings import RunSettings
from mosaic.workers.solo.table import Table


class Prepared(Protocol):
    """A run that is built and not begun: its environment exists, its agent has acted once."""

    def summary(self) -> dict[str, Any]:
        """Return what a dry run prints of it: env, agent, module, resources, warnings."""

    def run(self, recorder: RunRecorder) -> None:
        """Do the run; it returns when it is done, or soon after `recorder.should_stop`."""


@dataclass(frozen=True, slots=True)
class Program:
    """A worker. `prepare` raises a MosaicError for what cannot be run, and writes nothing."""

    name: str  # of its command, in messages
    capabilities: Callable[[], WorkerCapabilities]
    describe: Callable[[], dict[str, Any]]
    prepare: Callable[[RunSettings], Prepared]
    # With --interactive: the environment, and who acts where the other end leaves it open.
    sit_down: Callable[[RunSettings], Table] | None = None
