"""How a proxy begins: it starts the worker, or finds what an earlier proxy left."""

from __future__ import annotations

import os
from dataclasses import dataclass

from mosaic.workers.process_tree import ProcessIdentity, find_run_processes, identify
from mosaic.workers.proxy.launch import Launch
from mosaic.workers.proxy.state import ProxyState, WorkerEnd, read_state
from mosaic.workers.proxy.worker import Worker, adopt_orphans, start_worker

_EXIT_NOT_STARTED = 127  # the shells' code for a program that is not there


@dataclass(frozen=True, slots=True)
class Beginning:
    """The worker, which may have ended unseen, and its end if that is known already."""

    worker: Worker
    end: WorkerEnd | None = None


def begin(launch: Launch) -> Beginning:
    """Start the worker, unless this run's was started before: a run is never trained twice."""
    adopt_orphans()
    state = read_state(launch.paths.state)
    if state is None and not _has_written(launch):
        return _start(launch)  # no proxy has come as far as this before
    known = None if state is None else state.worker
    if state is not None and state.exit is not None:
        return Beginning(Worker(launch.run_id, known), state.exit)
    # A proxy that was killed right after the start has not noted the worker.
    known = known or next(iter(find_run_processes(launch.run_id, None)), None)
    if known is None and not _has_written(launch):
        return _start(launch)
    _write(launch, ProxyState(own_identity(), "running", known))
    return Beginning(Worker(launch.run_id, known))


def own_identity() -> ProcessIdentity:
    identity = identify(os.getpid())
    assert identity is not None
    return identity


def _start(launch: Launch) -> Beginning:
    _write(launch, ProxyState(own_identity(), "launching"))
    try:
        worker = start_worker(launch)
    except OSError as error:
        line = f"The worker cannot be started: {launch.command[0]}: {error.strerror or error}."
        end = WorkerEnd(exit_code=_EXIT_NOT_STARTED, was_seen=True, last_lines=(line,))
        _write(launch, ProxyState(own_identity(), "ended", exit=end))
        return Beginning(Worker(launch.run_id, None), end)
    _write(launch, ProxyState(own_identity(), "running", worker.identity))
    return Beginning(worker)


def _has_written(launch: Launch) -> bool:
    try:
        return launch.events.stat().st_size > 0
    except FileNotFoundError:
        return False


def _write(launch: Launch, state: ProxyState) -> None:
    state.write(launch.paths.state)
