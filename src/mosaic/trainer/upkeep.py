"""What the daemon does by itself, once a second: notice what nobody tells it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from mosaic.contracts.settings import TrainerSettings
from mosaic.contracts.states import RunState
from mosaic.fastlane.sweep import sweep as sweep_lanes
from mosaic.trainer import log
from mosaic.trainer.active import ActiveRun
from mosaic.trainer.disposal import Disposal
from mosaic.trainer.journal import SAVE_INTERVAL_S
from mosaic.trainer.lifecycle import has_process
from mosaic.trainer.settling import needs_proxy, settle, settle_lost
from mosaic.trainer.store.retention import trim
from mosaic.trainer.supervisor import Supervisor

TICK_S = 1.0
# A proxy needs a moment to say that it lives.
_PROXY_START_S = 3.0
_SWEEP_INTERVAL_S = 600.0
_LANES_INTERVAL_S = 10.0
# A proxy that dies as fast as it is started will not live the next time either.
_STARTS_LIMIT = 5
_STARTS_WINDOW_S = 60.0


class Upkeep:
    """The watch over the runs, and the broom."""

    def __init__(
        self, supervisor: Supervisor, disposal: Disposal, settings: TrainerSettings
    ) -> None:
        self._supervisor = supervisor
        self._disposal = disposal
        self._settings = settings

    async def sweep(self) -> None:
        """Remove what is too old or too much."""
        store = self._supervisor.journal.store
        while True:
            try:
                await self._disposal.empty_bin(self._settings.bin_days)
                limit_bytes = self._settings.telemetry_limit_mb << 20
                await asyncio.to_thread(trim, store.telemetry, store.runs, limit_bytes)
            except Exception:  # noqa: BLE001 - a full bin must not end the watch over the runs
                log.say_fault(None, "sweeping failed")
            await asyncio.sleep(_SWEEP_INTERVAL_S)

    async def sweep_lanes(self) -> None:
        """Remove the frames that killed runs left in memory."""
        while True:
            await asyncio.sleep(_LANES_INTERVAL_S)
            try:
                swept = await asyncio.to_thread(sweep_lanes, self._supervisor.runs.__contains__)
            except OSError:
                log.say_fault(None, "sweeping the live frames failed")
                continue
            for run_id in swept:
                log.say("swept", run_id, "its live frames were left behind")

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            for run in list(self._supervisor.runs.values()):
                try:
                    await self._look_after(run)
                except Exception:  # noqa: BLE001 - one run's fault must not end the watch over all
                    log.say_fault(run.run_id, "looking after the run failed")

    async def _look_after(self, run: ActiveRun) -> None:
        if not has_process(run.record.state):
            return
        if time.monotonic() - run.saved_at > SAVE_INTERVAL_S:
            async with run.lock:
                await self._supervisor.journal.save(run)
        await self._keep_proxy(run)
        self._keep_duration(run)
        await self._keep_contact(run)

    async def _keep_proxy(self, run: ActiveRun) -> None:
        """Start the proxy again, or settle the run, when its proxy is gone."""
        if run.link is not None or run.run_id not in self._supervisor.runs:
            return
        if run.proxy_starts and time.monotonic() - run.proxy_starts[-1] < _PROXY_START_S:
            return
        executor = self._supervisor.starter.executor
        if await asyncio.to_thread(executor.is_alive, run.run_id):
            return
        state = await asyncio.to_thread(executor.worker_state, run.run_id)
        files = executor.files(run.run_id, run.record.mode)
        if not needs_proxy(run, state, files):
            await settle(self._supervisor, run)
            return
        window = time.monotonic() - _STARTS_WINDOW_S
        if sum(start > window for start in run.proxy_starts) >= _STARTS_LIMIT:
            reason = f"Its proxy ended {_STARTS_LIMIT} times within {_STARTS_WINDOW_S:.0f} s."
            await settle_lost(self._supervisor, run, reason)
            return
        async with run.lock:
            if run.run_id in self._supervisor.runs and run.link is None:
                log.say("proxy_restarted", run.run_id, "its proxy was gone")
                await self._supervisor.starter.launch(run)

    def _keep_duration(self, run: ActiveRun) -> None:
        limit = _duration_limit(run.record.config)
        started = run.record.started_at
        if limit is None or started is None or run.is_cancelling:
            return
        if run.record.state is RunState.PAUSED:
            return
        if time.time() - started - run.record.paused_s > limit:
            reason = f"schedule.max_duration_seconds={limit:g} was reached."
            self._supervisor.spawn(self._supervisor.cancel(run.record, reason))

    async def _keep_contact(self, run: ActiveRun) -> None:
        if run.record.state is RunState.PAUSED or run.run_id not in self._supervisor.runs:
            return
        silence_s = time.monotonic() - run.last_sign
        if silence_s > self._settings.contact_timeout_s:
            reason = f"No sign of the worker for {silence_s:.0f} s."
            await settle_lost(self._supervisor, run, reason)


def _duration_limit(config: Mapping[str, Any]) -> float | None:
    schedule = config.get("schedule")
    return schedule.get("max_duration_seconds") if isinstance(schedule, Mapping) else None
