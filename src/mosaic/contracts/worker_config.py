"""The worker config: the object that a worker is started with, found and checked.

It comes flat, or as `metadata.worker.config` of a run config. A worker reads it without pydantic,
so that starting one stays cheap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.errors import ConfigError, suggest
from mosaic.contracts.identifiers import check_run_id
from mosaic.contracts.parameters import Parameter

KEYS = (
    "run_id",
    "algo",
    "env_id",
    "total_timesteps",
    "seed",
    "worker_id",
    "agent_id",
    "extras",
)

MAX_SEED = 2**32 - 1

_NESTED = ("metadata", "worker", "config")
_TOTAL_TIMESTEPS = Parameter("total_timesteps", "int", None, "", range=(1, None))
_SEED = Parameter("seed", "int", None, "", optional=True, range=(0, MAX_SEED))


@dataclass(frozen=True, slots=True)
class Reservation:
    """What the trainer set aside for a run."""

    cpus: int | None = None
    memory_mb: int | None = None
    gpus: int = 0


def extract_worker_config(document: Any) -> dict[str, Any]:
    """Return the worker config of a document, whichever of the two forms it has."""
    if not isinstance(document, Mapping):
        raise ConfigError(f"The config is {_kind(document)}: give a JSON object.")
    if "metadata" not in document:
        return dict(document)
    level: Any = document
    path = ""
    for name in _NESTED:
        path = f"{path}.{name}" if path else name
        if name not in level:
            raise ConfigError(f"{path} is missing: a run config holds its worker's config there.")
        level = level[name]
        if not isinstance(level, Mapping):
            raise ConfigError(f"{path} is {_kind(level)}: give a JSON object.")
    return dict(level)


def extract_reservation(document: Mapping[str, Any]) -> Reservation | None:
    """Return the resources of a run config; a flat worker config names none."""
    resources = document.get("resources")
    if "metadata" not in document or not isinstance(resources, Mapping):
        return None
    gpus = resources.get("gpus")
    requested = gpus.get("requested") if isinstance(gpus, Mapping) else gpus
    return Reservation(
        cpus=_count("resources.cpus", resources.get("cpus")),
        memory_mb=_count("resources.memory_mb", resources.get("memory_mb")),
        gpus=_count("resources.gpus.requested", requested) or 0,
    )


def check_worker_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return every field, checked and in its own type; an absent one that may be absent is None."""
    for name in config:
        if name not in KEYS:
            raise ConfigError(
                f"The worker config has no key {name!r}.{suggest(str(name), KEYS)}",
                hint="Options of the run belong in 'extras'.",
            )
    extras = config.get("extras")
    if extras is not None and not isinstance(extras, Mapping):
        raise ConfigError(f"extras is {_kind(extras)}: give a JSON object.")
    extras = dict(extras or {})
    return {
        "run_id": check_run_id(_required(config, "run_id")),
        "algo": check_text("algo", _required(config, "algo")),
        "env_id": check_text("env_id", _required(config, "env_id")),
        "total_timesteps": _check_budget(config, extras),
        "seed": _SEED.check(config.get("seed")),
        "worker_id": _check_optional_text("worker_id", config.get("worker_id")),
        "agent_id": _check_optional_text("agent_id", config.get("agent_id")),
        "extras": extras,
    }


def check_text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{name}={value!r} is not allowed: give text that is not empty.")
    if not value.isprintable():
        raise ConfigError(f"{name}={value!r} is not allowed: it holds a control character.")
    return value


def _check_optional_text(name: str, value: Any) -> str | None:
    return None if value is None else check_text(name, value)


def _check_budget(config: Mapping[str, Any], extras: Mapping[str, Any]) -> int | None:
    value = config.get("total_timesteps")
    if value is None and extras.get("mode") in ("policy_eval", "interactive"):
        return None
    checked: int = _TOTAL_TIMESTEPS.check(_required(config, "total_timesteps"))
    return checked


def _required(config: Mapping[str, Any], name: str) -> Any:
    if name not in config:
        raise ConfigError(f"{name} is missing from the worker config.")
    return config[name]


def _count(name: str, value: Any) -> int | None:
    parameter = Parameter(name, "int", None, "", optional=True, range=(0, None))
    count: int | None = parameter.check(value)
    return count


def _kind(value: Any) -> str:
    names = {list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
