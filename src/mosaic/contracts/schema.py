"""The schema file of a worker: its algorithms and their parameters as data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ConfigError, suggest
from mosaic.contracts.parameters import Parameter, find
from mosaic.contracts.search import SearchRange

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class TunedRow:
    """Settings that are known to work for one algorithm on one environment."""

    env_id: str
    values: Mapping[str, Any]
    source: str


@dataclass(frozen=True, slots=True)
class AlgorithmSchema:
    name: str
    module: str
    summary: str
    env_families: tuple[str, ...]
    extras: tuple[str, ...]
    fields: tuple[Parameter, ...]
    tuned: tuple[TunedRow, ...]
    actions: str = ""  # "discrete" or "box"; empty where the worker does not say
    search: tuple[SearchRange, ...] = ()

    def check(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the hyperparameters in their own types; an unknown or wrong one is refused."""
        return {
            name: find(self.fields, name, owner=self.name).check(value)
            for name, value in values.items()
        }

    def has(self, name: str) -> bool:
        return any(field.name == name for field in self.fields)

    def default(self, name: str) -> Any:
        return find(self.fields, name, owner=self.name).default

    def tuned_for(self, env_id: str) -> TunedRow:
        for row in self.tuned:
            if row.env_id == env_id:
                return row
        known = ", ".join(row.env_id for row in self.tuned) or "none"
        raise ConfigError(
            f"{self.name} has no tuned values for {env_id!r}. Tuned environments: {known}."
        )


@dataclass(frozen=True, slots=True)
class WorkerSchema:
    worker_type: str
    algorithms: Mapping[str, AlgorithmSchema]

    def algorithm(self, name: str) -> AlgorithmSchema:
        if name not in self.algorithms:
            raise ConfigError(
                f"algo={name!r} is unknown.{suggest(name, self.algorithms)}",
                hint="'mosaic algos' lists them.",
            )
        return self.algorithms[name]


def load_schema(path: Path) -> WorkerSchema:
    document = json.loads(path.read_text(encoding="utf-8"))
    if document["schema_version"] > SCHEMA_VERSION:
        raise ConfigError(
            f"The schema of worker {document['worker_type']!r} has version "
            f"{document['schema_version']}; this MOSAIC reads up to {SCHEMA_VERSION}: "
            "update it."
        )
    algorithms = {entry["name"]: _read_algorithm(entry) for entry in document["algorithms"]}
    return WorkerSchema(document["worker_type"], algorithms)


def _read_algorithm(entry: Mapping[str, Any]) -> AlgorithmSchema:
    return AlgorithmSchema(
        name=entry["name"],
        module=entry["module"],
        summary=entry["summary"],
        env_families=tuple(entry["env_families"]),
        extras=tuple(entry["extras"]),
        fields=tuple(Parameter.from_json(field) for field in entry["fields"]),
        tuned=tuple(TunedRow(**row) for row in entry["tuned"]),
        actions=entry.get("actions", ""),
        search=tuple(SearchRange.from_json(row) for row in entry.get("search", ())),
    )
