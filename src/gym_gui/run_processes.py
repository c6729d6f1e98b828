"""The processes of each run: those that carry its id in their environment, as a tree."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

_VARIABLE = "MOSAIC_RUN_ID"


@dataclass(frozen=True, slots=True)
class RunProcess:
    pid: int
    parent: int
    command: str
    memory_bytes: int
    cpu_s: float
    depth: int = 0


def processes_by_run() -> dict[str, list[RunProcess]]:
    """Return the processes of every run of this user, parents before their children."""
    found: dict[str, dict[int, RunProcess]] = {}
    for process in psutil.process_iter():
        try:
            if process.uids().real != os.getuid():
                continue
            run_id = process.environ().get(_VARIABLE)
            if run_id:
                found.setdefault(run_id, {})[process.pid] = _describe(process)
        except (psutil.Error, OSError):  # it has ended meanwhile, or is not ours to read
            continue
    return {run_id: list(_tree(processes)) for run_id, processes in found.items()}


def _describe(process: psutil.Process) -> RunProcess:
    with process.oneshot():
        times = process.cpu_times()
        return RunProcess(
            pid=process.pid,
            parent=process.ppid(),
            command=_short(process.cmdline()) or process.name(),
            memory_bytes=process.memory_info().rss,
            cpu_s=times.user + times.system,
        )


def _short(words: list[str]) -> str:
    """Return the module or script that runs, rather than the interpreter's path."""
    if "-m" in words[:-1]:
        return words[words.index("-m") + 1]
    scripts = [os.path.basename(word) for word in words[1:] if word.endswith(".py")]
    return scripts[0] if scripts else " ".join(os.path.basename(word) for word in words[:1])


def _tree(processes: dict[int, RunProcess]) -> Iterator[RunProcess]:
    def below(parent: int, depth: int) -> Iterator[RunProcess]:
        for each in sorted(processes.values(), key=lambda process: process.pid):
            is_here = each.parent == parent
            if is_here:
                yield RunProcess(
                    each.pid, each.parent, each.command, each.memory_bytes, each.cpu_s, depth
                )
                yield from below(each.pid, depth + 1)

    for parent in sorted({each.parent for each in processes.values()} - set(processes)):
        yield from below(parent, 0)
