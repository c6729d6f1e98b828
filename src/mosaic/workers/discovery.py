"""Find the workers that are installed, without importing anything heavy."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities

ENTRY_POINT_GROUP = "mosaic.workers"

logger = logging.getLogger(__name__)
logger.addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class DiscoveredWorker:
    """An entry of the group: its capabilities, or the reason why there are none."""

    name: str
    capabilities: WorkerCapabilities | None
    reason: str | None = None

    @property
    def is_available(self) -> bool:
        return self.capabilities is not None

    def to_json(self) -> dict[str, Any]:
        capabilities = None if self.capabilities is None else self.capabilities.to_json()
        return {
            "name": self.name,
            "available": self.is_available,
            "reason": self.reason,
            "capabilities": capabilities,
        }


def discover_workers() -> tuple[DiscoveredWorker, ...]:
    """Return every worker that an installed package announces, by name."""
    # A path that is listed twice announces its packages twice.
    entries = {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}
    return tuple(_describe(entries[name]) for name in sorted(entries))


def _describe(entry: EntryPoint) -> DiscoveredWorker:
    # A border: this runs code of a package that we know nothing about.
    try:
        capabilities = entry.load()()
    except (Exception, SystemExit) as error:
        logger.exception("worker %s is unavailable", entry.name)
        return DiscoveredWorker(entry.name, None, f"{type(error).__name__}: {error}")
    if not isinstance(capabilities, WorkerCapabilities):
        found = type(capabilities).__name__
        return DiscoveredWorker(
            entry.name, None, f"{entry.value} returned {found}, not WorkerCapabilities"
        )
    return DiscoveredWorker(entry.name, capabilities)
