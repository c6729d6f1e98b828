"""Which queued runs start now, and why the others wait: a pure function.

First come, first served. There are two things to wait for: a GPU, and room (CPUs and memory). A
run that waits for a GPU holds up nobody but those who want one too; one that waits for room holds
up everybody behind it, since all need room. GPUs that are wanted, but not mandatory, are waited
for as far as the machine has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mosaic.contracts.errors import ConfigError
from mosaic.trainer.resources import Machine


@dataclass(frozen=True, slots=True)
class Request:
    """What a run asks for."""

    run_id: str
    cpus: int
    memory_mb: int
    gpus: int = 0
    is_gpu_mandatory: bool = False


@dataclass(frozen=True, slots=True)
class Reservation:
    """What a run holds; GPUs by their index."""

    cpus: int
    memory_mb: int
    gpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    starts: list[tuple[str, Reservation]] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)  # run: why


def plan(queue: Sequence[Request], machine: Machine, held: Mapping[str, Reservation]) -> Plan:
    """Go through the queue, oldest first, and hand out what is free."""
    free = _Free(machine, held)
    made = Plan()
    ahead_for_gpu = ahead_for_room = 0
    for request in queue:
        impossible = _impossible(request, machine)
        if impossible:  # it came before the machine shrank; it must not hold up the others
            made.waiting[request.run_id] = impossible
        elif ahead_for_room:
            ahead = ahead_for_room + ahead_for_gpu
            made.waiting[request.run_id] = _reason(free.lacking(request), ahead)
            ahead_for_room += 1
        elif (lacking := free.lacking_gpus(request)) or (
            ahead_for_gpu and free.usable_gpus(request)
        ):
            made.waiting[request.run_id] = _reason(lacking, ahead_for_gpu)
            ahead_for_gpu += 1
        elif lacking := free.lacking_room(request):
            made.waiting[request.run_id] = _reason(lacking, 0)
            ahead_for_room += 1
        else:
            made.starts.append((request.run_id, free.take(request)))
    return made


def refuse_impossible(request: Request, machine: Machine) -> None:
    """Refuse what this machine could not give with nothing else running."""
    why = _impossible(request, machine)
    if why:
        raise ConfigError(
            f"The run {why}.",
            hint="Ask for less under resources; [trainer] in var/mosaic.toml sets what there is.",
        )


def _impossible(request: Request, machine: Machine) -> str:
    for wanted, there, unit in (
        (request.cpus, machine.cpus, "CPUs"),
        (request.memory_mb, machine.memory_mb, "MB of memory"),
        (request.gpus if request.is_gpu_mandatory else 0, len(machine.gpus), "GPUs"),
    ):
        if wanted > there:
            return f"needs {wanted} {unit}, and this machine has {there}"
    return ""


class _Free:
    """What nobody holds, while it is handed out."""

    def __init__(self, machine: Machine, held: Mapping[str, Reservation]) -> None:
        self._machine = machine
        self._cpus = machine.cpus - sum(each.cpus for each in held.values())
        self._memory_mb = machine.memory_mb - sum(each.memory_mb for each in held.values())
        taken = {index for each in held.values() for index in each.gpus}
        self._gpus = [device.index for device in machine.gpus if device.index not in taken]

    def take(self, request: Request) -> Reservation:
        wanted = self.usable_gpus(request)
        gpus, self._gpus = tuple(self._gpus[:wanted]), self._gpus[wanted:]
        self._cpus -= request.cpus
        self._memory_mb -= request.memory_mb
        return Reservation(request.cpus, request.memory_mb, gpus)

    def usable_gpus(self, request: Request) -> int:
        """Return how many GPUs the run gets: no more than there are."""
        return min(request.gpus, len(self._machine.gpus))

    def lacking_gpus(self, request: Request) -> str:
        """Say which GPUs are missing; nothing where there are enough."""
        wanted = self.usable_gpus(request)
        if wanted <= len(self._gpus):
            return ""
        plural = "s" if wanted > 1 else ""
        return f"{wanted} GPU{plural}: {len(self._gpus)} of {len(self._machine.gpus)} free"

    def lacking_room(self, request: Request) -> str:
        """Say which of CPUs and memory is missing; nothing where there is enough of both."""
        if request.cpus > self._cpus:
            plural = "s" if request.cpus > 1 else ""
            free = max(0, self._cpus)
            return f"{request.cpus} CPU{plural}: {free} of {self._machine.cpus} free"
        if request.memory_mb > self._memory_mb:
            free = max(0, self._memory_mb)
            return f"{request.memory_mb} MB of memory: {free} of {self._machine.memory_mb} free"
        return ""

    def lacking(self, request: Request) -> str:
        return self.lacking_gpus(request) or self.lacking_room(request)


def _reason(lacking: str, ahead: int) -> str:
    runs = f"{ahead} run{'s' if ahead > 1 else ''} ahead"
    if not lacking:
        return f"waiting for its turn: {runs}"
    return f"waiting for {lacking}" + (f"; {runs}" if ahead else "")
