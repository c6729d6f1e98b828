"""From the queue to a running proxy: what may start is started, what waits is told why."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from typing import Any

from mosaic.contracts.errors import MosaicError
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.secrets import ENVIRONMENT_OF
from mosaic.contracts.states import Outcome, RunState
from mosaic.contracts.tokens import RUN_TOKEN_VARIABLE
from mosaic.trainer import log
from mosaic.trainer.active import ActiveRun
from mosaic.trainer.auth import Tokens
from mosaic.trainer.executors.base import Executor, Launch
from mosaic.trainer.journal import Journal
from mosaic.trainer.lifecycle import Sign, has_process
from mosaic.trainer.resources import Machine
from mosaic.trainer.scheduler import Request, Reservation, plan, refuse_impossible
from mosaic.trainer.submission import request_of, write_launch_files

# Without these a run goes on, with W&B offline.
_DISPENSABLE = frozenset(
    ENVIRONMENT_OF[name] for name in ("wandb_api_key", "wandb_http_proxy", "wandb_https_proxy")
)


class Starter:
    """The queue and the machine. `runs` holds every unfinished run by its id, oldest first."""

    def __init__(
        self,
        journal: Journal,
        executor: Executor,
        machine: Machine,
        paths: VarPaths,
        tokens: Tokens,
    ) -> None:
        self.runs: dict[str, ActiveRun] = {}
        self.executor = executor
        self.machine = machine
        self._journal = journal
        self._paths = paths
        self._tokens = tokens
        self._turn = asyncio.Lock()

    def refuse_impossible(self, request: Request) -> None:
        refuse_impossible(request, self.machine)

    @property
    def held(self) -> dict[str, Reservation]:
        """What the runs that have processes hold."""
        return {
            run_id: _reservation(run.record.reserved)
            for run_id, run in self.runs.items()
            if has_process(run.record.state) and run.record.reserved is not None
        }

    @property
    def queue(self) -> list[ActiveRun]:
        return [run for run in self.runs.values() if run.record.state is RunState.INIT]

    async def start_what_fits(self) -> None:
        """Go through the queue; one at a time, since two would hand out the same CPU."""
        async with self._turn:
            ready = [run for run in self.queue if not missing_secrets(run)]
            made = plan([_request(run) for run in ready], self.machine, self.held)
            for run_id, reservation in made.starts:
                await self._start(self.runs[run_id], reservation)
            for run in self.queue:
                await self._explain(run, made.waiting.get(run.run_id))

    async def _explain(self, run: ActiveRun, why: str | None) -> None:
        missing = missing_secrets(run)
        if missing:
            why = f"secret needed: {', '.join(missing)} was lost with the daemon's restart"
        if why is not None and why != run.record.reason:
            async with run.lock:
                if run.record.state is RunState.INIT:
                    await self._journal.change(run, reason=why)

    async def _start(self, run: ActiveRun, reservation: Reservation) -> None:
        async with run.lock:
            if run.record.state is not RunState.INIT:  # cancelled in the meantime
                return
            # Written first: a daemon that dies here finds the run, and starts it then.
            reserved = {
                "cpus": reservation.cpus,
                "memory_mb": reservation.memory_mb,
                "gpus": list(reservation.gpus),
            }
            await self._journal.sign(run, Sign.LAUNCHED, reason="", reserved=reserved)
            await self.launch(run)

    async def launch(self, run: ActiveRun) -> None:
        """Start the proxy of a run, which starts or finds its worker; the lock is held."""
        run.was_heard()
        run.proxy_starts.append(time.monotonic())
        launch = await asyncio.to_thread(self._prepare, run)
        try:
            await asyncio.to_thread(self.executor.start, launch)
        except (OSError, MosaicError) as error:
            await self._could_not_start(run, error)
            return
        log.say("run_launched", run.run_id, f"reserved {run.record.reserved}")

    async def _could_not_start(self, run: ActiveRun, error: Exception) -> None:
        reason = f"The run could not be started: {error}"
        log.say("run_ended", run.run_id, reason)
        await self._journal.sign(
            run, Sign.ENDED, outcome=Outcome.FAILED, reason=reason, ended_at=time.time()
        )
        self.runs.pop(run.run_id, None)

    def _prepare(self, run: ActiveRun) -> Launch:
        record, config = run.record, run.record.config
        worker = config["metadata"]["worker"]
        worker_config = write_launch_files(
            self._paths, record.run_id, config, _reservation(record.reserved)
        )
        return Launch(
            run_id=record.run_id,
            mode=record.mode,
            command=(
                *(sys.executable, "-P", "-m", worker["module"], "--config", str(worker_config)),
                *worker.get("arguments", ()),
            ),
            environment={
                **_offline_if_needed(run),
                **config.get("environment", {}),
                **_visible_gpus(self.machine, record.reserved),
            },
            secrets={
                **run.secrets,
                RUN_TOKEN_VARIABLE: self._tokens.of_run(record.run_id),
            },
            registration=_registration(record.worker, record.worker_id, worker["config"]),
        )


def missing_secrets(run: ActiveRun) -> list[str]:
    """Return the secrets that the run was submitted with, that are gone, and that it needs."""
    return sorted(set(run.record.secret_names) - set(run.secrets) - _DISPENSABLE)


def _offline_if_needed(run: ActiveRun) -> dict[str, str]:
    lost = (set(run.record.secret_names) - set(run.secrets)) & _DISPENSABLE
    if not lost:
        return {}
    names = ", ".join(sorted(lost))
    log.say("run_launched", run.run_id, f"{names} was lost with a restart: W&B goes offline")
    return {"WANDB_MODE": "offline"}


def _visible_gpus(machine: Machine, reserved: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the variable that shows a run the GPUs it holds, and no other."""
    held = set((reserved or {}).get("gpus") or ())
    return {
        "CUDA_VISIBLE_DEVICES": ",".join(
            device.uuid for device in machine.gpus if device.index in held
        )
    }


def _registration(kind: str, worker_id: str, config: Mapping[str, Any]) -> dict[str, Any]:
    extras = config.get("extras") or {}
    return {
        "worker_id": worker_id,
        "worker_kind": kind,
        "schema_id": extras.get("schema_id") or f"{kind}.{config.get('algo')}",
        "schema_version": extras.get("schema_version") or 1,
        "supports_pause": bool(extras.get("supports_pause", False)),
        "supports_checkpoint": bool(extras.get("supports_checkpoint", False)),
    }


def _request(run: ActiveRun) -> Request:
    return request_of(run.run_id, run.record.config)


def _reservation(reserved: Mapping[str, Any] | None) -> Reservation:
    held = reserved or {}
    return Reservation(
        int(held.get("cpus") or 0),
        int(held.get("memory_mb") or 0),
        tuple(held.get("gpus") or ()),
    )
