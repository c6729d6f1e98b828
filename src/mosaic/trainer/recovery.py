"""After a start: what became of the runs that were left, before anybody can ask."""

from __future__ import annotations

import asyncio

from mosaic.contracts.states import RunState
from mosaic.trainer import log
from mosaic.trainer.active import ActiveRun
from mosaic.trainer.settling import needs_proxy, settle
from mosaic.trainer.store import runs
from mosaic.trainer.supervisor import Supervisor


async def recover(supervisor: Supervisor) -> None:
    """Adopt what still runs, end what does not, and queue again what never started."""
    for record in await supervisor.journal.read(runs.unfinished):
        run = await supervisor.journal.load(record)
        supervisor.runs[run.run_id] = run
    for run in list(supervisor.runs.values()):
        log.say("recovered", run.run_id, await _recover(supervisor, run))


async def _recover(supervisor: Supervisor, run: ActiveRun) -> str:
    if run.record.state is RunState.INIT:
        return "it waits in the queue, as before"
    executor = supervisor.starter.executor
    if await asyncio.to_thread(executor.is_alive, run.run_id):
        return "its proxy lives, and will report"
    state = await asyncio.to_thread(executor.worker_state, run.run_id)
    if needs_proxy(run, state, executor.files(run.run_id, run.record.mode)):
        return "it gets a new proxy, which finds its worker or starts it"
    await settle(supervisor, run)
    return "it had ended, and its end is stored"
