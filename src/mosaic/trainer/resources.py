"""What this machine has to give: found, unless the operator says otherwise."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.gpus import GpuDevice, survey_gpus, visible_gpus
from mosaic.contracts.settings import TrainerSettings

__all__ = ["GpuDevice", "Machine", "find_machine"]

_MB = 2**20
# What a container without a limit says in cgroup v1: a number beyond any memory.
_NO_LIMIT = 2**60

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Machine:
    cpus: int
    memory_mb: int
    gpus: tuple[GpuDevice, ...] = ()


def find_machine(settings: TrainerSettings) -> Machine:
    return Machine(
        cpus=settings.cpus or usable_cpus(),
        memory_mb=settings.memory_mb or usable_memory_mb(),
        gpus=_find_gpus(settings.gpus),
    )


def usable_cpus(proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the cores that this process may run on, and that its container pays for."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    quota = min(_limits(proc, cgroup, "cpu", _cpu_quota), default=cores)
    return max(1, min(cores, int(quota)))


def usable_memory_mb(proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the machine's memory, or the container's where that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = min(_limits(proc, cgroup, "memory", _memory_limit), default=total)
    return max(1, int(min(total, limit)) // _MB)


def _limits(
    proc: Path, cgroup: Path, controller: str, read: Callable[[Path], float | None]
) -> Iterator[float]:
    """Yield the limits of this process's groups: each holds for everything below it."""
    for folder in _groups(proc, cgroup, controller):
        limit = read(folder)
        if limit is not None:
            yield limit


def _groups(proc: Path, cgroup: Path, controller: str) -> Iterator[Path]:
    """Yield the group's folder and those above it, of cgroup v2 and of v1's controller."""
    for line in _read(proc / "self" / "cgroup").splitlines():
        _, names, path = line.split(":", 2)
        if names and controller not in names.split(","):
            continue
        root = cgroup / controller if names else cgroup
        folder = root / path.lstrip("/")
        while folder != root and root in folder.parents:
            yield folder
            folder = folder.parent
        yield root


def _cpu_quota(folder: Path) -> float | None:
    both = _read(folder / "cpu.max").split()  # v2: "150000 100000", or "max 100000"
    if not both:
        both = [_read(folder / f"cpu.cfs_{word}_us").strip() for word in ("quota", "period")]
    if len(both) != 2 or not all(word.isdecimal() for word in both):
        return None  # "max", "-1" or no file: no limit
    quota, period = map(int, both)
    return quota / period if period else None


def _memory_limit(folder: Path) -> float | None:
    text = (_read(folder / "memory.max") or _read(folder / "memory.limit_in_bytes")).strip()
    return int(text) if text.isdecimal() and int(text) < _NO_LIMIT else None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _find_gpus(chosen: Sequence[int] | None) -> tuple[GpuDevice, ...]:
    if chosen == ():
        return ()
    survey = survey_gpus()
    if survey.problem:
        logger.warning("no GPU is used: %s", survey.problem)
    devices = visible_gpus(survey.devices)
    if chosen is None:
        return devices
    by_index = {device.index: device for device in devices}
    for index in chosen:
        if index not in by_index:
            found = ", ".join(map(str, by_index)) or "none"
            raise ConfigError(
                f"trainer.gpus={list(chosen)!r} names GPU {index}; this machine has: {found}.",
                hint="Correct it under [trainer] in var/mosaic.toml.",
            )
    return tuple(by_index[index] for index in chosen)
