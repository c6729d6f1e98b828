"""How the daemon is: what it holds, what is free, and what should worry the operator."""

from __future__ import annotations

import os
import shutil
import time

from mosaic import __version__
from mosaic.contracts.paths import VarPaths
from mosaic.proto import trainer_pb2 as pb
from mosaic.trainer.store import runs
from mosaic.trainer.supervisor import Supervisor

_LITTLE_DISK_BYTES = 2 << 30


class HealthReport:
    def __init__(self, supervisor: Supervisor, paths: VarPaths, target: str) -> None:
        self._supervisor = supervisor
        self._paths = paths
        self._target = target
        self._started = time.monotonic()

    async def make(self) -> pb.Health:
        starter = self._supervisor.starter
        machine, held = starter.machine, starter.held
        holders = {index: run_id for run_id, each in held.items() for index in each.gpus}
        disk_free = shutil.disk_usage(self._paths.root).free
        return pb.Health(
            version=__version__,
            pid=os.getpid(),
            uptime_s=time.monotonic() - self._started,
            var_dir=str(self._paths.root),
            target=self._target,
            runs_by_state=await self._supervisor.journal.read(runs.counts),
            total_cpus=machine.cpus,
            free_cpus=machine.cpus - sum(each.cpus for each in held.values()),
            total_memory_mb=machine.memory_mb,
            free_memory_mb=machine.memory_mb - sum(each.memory_mb for each in held.values()),
            gpus=[
                pb.Gpu(
                    index=gpu.index,
                    name=gpu.name,
                    memory_mb=gpu.memory_mb,
                    run_id=holders.get(gpu.index, ""),
                )
                for gpu in machine.gpus
            ],
            queued=len(starter.queue),
            rss_mb=_rss_mb(),
            store_bytes=self._store_bytes(),
            disk_free_bytes=disk_free,
            warnings=_warnings(disk_free),
        )

    def _store_bytes(self) -> int:
        databases = (self._paths.trainer_database, self._paths.telemetry_database)
        files = [path for each in databases for path in each.parent.glob(f"{each.name}*")]
        return sum(path.stat().st_size for path in files)


def _rss_mb() -> float:
    import psutil

    return round(psutil.Process().memory_info().rss / 2**20, 1)


def _warnings(disk_free: int) -> list[str]:
    if disk_free < _LITTLE_DISK_BYTES:
        return [f"The disk of the data directory has {disk_free / 2**30:.1f} GB left."]
    return []
