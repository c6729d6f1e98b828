"""The algorithms of every worker that is installed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.errors import ConfigError, suggest
from mosaic.contracts.schema import AlgorithmSchema, WorkerSchema, load_schema
from mosaic.workers.discovery import DiscoveredWorker, discover_workers


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
