"""What a run will take of this machine: memory, disk and time, and whether it has that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gym_gui import formatting
from mosaic.client.asynchronous import AsyncClient
from mosaic.proto import trainer_pb2 as pb

_MB = 2**20
_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class Cost:
    label: str
    text: str
    warning: str = ""


async def speed_of(client: AsyncClient, algo: str, env_id: str) -> float | None:
    """Return the steps a second of the newest run of the same kind; None where there is none."""
    page = await client.list_runs(algo=algo, env_id=env_id, page_size=_LOOKED_AT)
    trained = [run for run in page.runs if run.mode != "policy_eval" and run.steps_per_second > 0]
    return trained[0].steps_per_second if trained else None


def costs_of(
    summary: Mapping[str, Any],
    health: pb.Health | None,
    *,
    speed: float | None,
    count: int = 1,
) -> list[Cost]:
    """Return what a dry run estimated; `count` runs of the kind are to be started."""
    resources = summary.get("resources")
    resources = resources if isinstance(resources, Mapping) else {}
    found = [
        _memory(_number(resources.get("memory_mb")), health),
        _disk(_number(resources.get("disk_mb")), health, count),
        _time(summary, speed),
    ]
    return [cost for cost in found if cost is not None]


def _memory(megabytes: float | None, health: pb.Health | None) -> Cost | None:
    if megabytes is None:
        return None
    text = formatting.size(megabytes * _MB)
    total = health.total_memory_mb if health is not None else 0
    if total and megabytes > total:
        has = formatting.size(total * _MB)
        return Cost("Memory", text, f"It needs about {text} of memory; this machine has {has}.")
    return Cost("Memory", text)


def _disk(megabytes: float | None, health: pb.Health | None, count: int) -> Cost | None:
    if megabytes is None:
        return None
    needed = megabytes * _MB * count
    text = formatting.size(needed)
    if health is not None and needed > health.disk_free_bytes:
        has = formatting.size(health.disk_free_bytes)
        return Cost("Disk", text, f"It needs about {text} of disk; {has} are free.")
    return Cost("Disk", text)


def _time(summary: Mapping[str, Any], speed: float | None) -> Cost:
    config = summary.get("config")
    total = _number(config.get("total_timesteps")) if isinstance(config, Mapping) else None
    if speed is None or total is None:
        return Cost("Time", "not known: no run of this kind has been measured yet")
    rate = f"{formatting.count(speed)} steps/s, as the last run of this kind"
    return Cost("Time", f"about {formatting.duration(total / speed)} at {rate}")


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None
