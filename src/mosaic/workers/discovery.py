"""Find the workers that are installed, and their algorithms, without importing anything heavy."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.checkouts import PREFIX, find_home, find_scripts, is_script, script_schema
from mosaic.contracts.errors import ConfigError, suggest
from mosaic.contracts.schema import AlgorithmSchema, WorkerSchema, load_schema

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


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """An algorithm, and the worker that runs it."""

    algorithm: AlgorithmSchema
    worker: WorkerCapabilities


@dataclass(frozen=True, slots=True)
class Catalogue:
    entries: Mapping[str, CatalogueEntry]
    workers: tuple[DiscoveredWorker, ...]

    @property
    def available(self) -> list[WorkerCapabilities]:
        return [worker.capabilities for worker in self.workers if worker.capabilities is not None]

    def script(self, name: str, home: Path) -> CatalogueEntry:
        """Return a script of a CleanRL checkout, and the worker that runs it."""
        wanted = PREFIX.removesuffix(":")
        for worker in self.available:
            if worker.worker_type == wanted:
                return CatalogueEntry(script_schema(home, name), worker)
        raise ConfigError(f"algo={name!r} needs the worker {wanted!r}, which is not available.")

    def of_checkout(self, home: Path) -> Catalogue:
        """Return a catalogue of a checkout's scripts; one that cannot be read is left out."""
        entries: dict[str, CatalogueEntry] = {}
        for name in find_scripts(home):
            try:
                entries[name] = self.script(name, home)
            except ConfigError as error:
                logger.info("%s", error.one_line())
        return Catalogue(entries, self.workers)

    def holding(self, name: str, extras: Mapping[str, Any]) -> Catalogue:
        """Return the catalogue that has this algorithm: a checkout's where it is a script."""
        return self.of_checkout(find_home(extras, name)) if is_script(name) else self

    def find(self, name: str) -> CatalogueEntry:
        if name in self.entries:
            return self.entries[name]
        broken = [f"{found.name} ({found.reason})" for found in self.workers if found.reason]
        unavailable = f" Unavailable workers: {', '.join(broken)}." if broken else ""
        raise ConfigError(
            f"algo={name!r} is unknown.{suggest(name, self.entries)}{unavailable}",
            hint="'mosaic algos' lists them.",
        )


def load_catalogue() -> Catalogue:
    """Read the schema of every worker; one that cannot be read makes its worker unavailable."""
    entries: dict[str, CatalogueEntry] = {}
    workers = []
    for found in discover_workers():
        schema = None
        if found.capabilities is not None:
            schema, found = _read_schema(found, found.capabilities)
        workers.append(found)
        if schema is not None and found.capabilities is not None:
            for name, algorithm in schema.algorithms.items():
                entries.setdefault(name, CatalogueEntry(algorithm, found.capabilities))
    return Catalogue(entries, tuple(workers))


def _read_schema(
    found: DiscoveredWorker, capabilities: WorkerCapabilities
) -> tuple[WorkerSchema | None, DiscoveredWorker]:
    try:
        return load_schema(capabilities.schema), found
    except (ConfigError, OSError, ValueError, KeyError, TypeError) as error:
        reason = f"its schema cannot be read: {type(error).__name__}: {error}"
        return None, DiscoveredWorker(found.name, None, reason)
