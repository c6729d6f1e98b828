"""Workers that somebody started by hand with --grpc: followed like those the daemon started."""

from __future__ import annotations

import asyncio
import time

from mosaic.contracts.errors import ConfigError, NotFound
from mosaic.contracts.identifiers import check_run_id
from mosaic.contracts.states import RunState
from mosaic.proto import trainer_pb2 as pb
from mosaic.trainer import log
from mosaic.trainer.active import ActiveRun
from mosaic.trainer.desk import Desk
from mosaic.trainer.executors.base import Launch
from mosaic.trainer.store.runs import RunRecord
from mosaic.trainer.supervisor import Supervisor
from mosaic.workers.process_tree import ProcessIdentity


class Guests:
    """Takes in a worker that runs already. Nothing was reserved for it, and it never waited."""

    def __init__(self, supervisor: Supervisor, desk: Desk) -> None:
        self._supervisor = supervisor
        self._desk = desk

    async def is_known(self, run_id: str) -> bool:
        try:
            return (await self._supervisor.journal.find(check_run_id(run_id))).run_id == run_id
        except NotFound:
            return False

    async def admit(self, request: pb.RegisterWorkerRequest, token: str) -> None:
        """Make a run of the worker, and put a proxy beside it."""
        worker = ProcessIdentity(request.process.pid, request.process.start_ticks)
        if not worker.is_alive():
            raise ConfigError(
                f"There is no run {request.run_id!r}, and no process to make one of.",
                hint="Submit the run, or let the worker itself register.",
            )
        module = self._desk.module_of(request.worker_kind)
        record = await self._supervisor.journal.insert(_record(request, module))
        run = ActiveRun(record)
        self._supervisor.runs[record.run_id] = run
        log.say("run_submitted", record.run_id, f"pid {worker.pid}, started by hand")
        launch = Launch(
            run_id=record.run_id,
            mode=record.mode,
            command=("false",),  # it runs: nothing is ever started for it
            environment={},
            secrets={"MOSAIC_RUN_TOKEN": token},
            registration={"worker_id": record.worker_id, "worker_kind": record.worker},
        )
        await asyncio.to_thread(self._supervisor.starter.executor.adopt, launch, worker)


def _record(request: pb.RegisterWorkerRequest, module: str) -> RunRecord:
    """Return what is known so far; the worker's first event tells the rest."""
    algo = request.schema_id.partition(".")[2]
    config = {"run_id": request.run_id, "algo": algo, "extras": {}}
    return RunRecord(
        run_id=request.run_id,
        name=f"{algo}-{request.run_id}",
        state=RunState.HANDSHAKE,
        created_at=time.time(),
        algo=algo,
        worker_id=request.worker_id,
        worker=request.worker_kind,
        mode=request.mode or "train",
        config={
            "resources": {"cpus": 0, "memory_mb": 0, "gpus": {"requested": 0, "mandatory": False}},
            "metadata": {"worker": {"module": module, "config": config}},
        },
    )
