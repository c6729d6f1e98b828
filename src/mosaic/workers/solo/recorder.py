"""What a run of one process tells the world: steps, episodes, metrics, events, manifest."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.events import HEARTBEAT_INTERVAL_S, finite
from mosaic.contracts.files import write_json_whole
from mosaic.contracts.manifest import (
    Artifacts,
    Checkpoints,
    Lineage,
    Manifest,
    Metrics,
    Policy,
    Resources,
    RunStatus,
)
from mosaic.contracts.paths import RunPaths
from mosaic.contracts.saved_states import find_states
from mosaic.contracts.telemetry import telemetry_line
from mosaic.workers.emitter import EventEmitter
from mosaic.workers.metric_bridge import MetricBridge
from mosaic.workers.solo.settings import RunSettings
from mosaic.workers.stop_requests import StopRequests

_LOG = logging.getLogger(__name__)

_TICK_S = 0.05
_LINES = 256  # telemetry lines that are written together


class RunRecorder:
    """Records one run. A thread of its own sends metrics and heartbeats; any thread may record."""

    def __init__(
        self,
        settings: RunSettings,
        worker: WorkerCapabilities,
        paths: RunPaths,
        emitter: EventEmitter,
        requests: StopRequests,
    ) -> None:
        self.settings = settings
        self.paths = paths
        self.policy_path: Path | None = None
        self.final: dict[str, float] = {}
        self._worker_type = worker.worker_type
        self._module = worker.module
        self._emitter = emitter
        self._requests = requests
        self._bridge = MetricBridge()
        self._lock = threading.RLock()
        self._lines: list[str] = []
        self._series: Any = None
        self._step = 0
        self._lineage = Lineage()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._keep_up, name="recorder", daemon=True)

    @property
    def should_stop(self) -> bool:
        return self._requests.first is not None

    @property
    def identity(self) -> dict[str, Any]:
        settings = self.settings
        return {"algo": settings.algo, "env_id": settings.env_id, "module": self._module}

    # The life of the run

    def started(self) -> None:
        self._write_manifest(RunStatus.RUNNING)
        self._emitter.record_to(self.paths.events)
        self._series = self.paths.metrics.open("a", encoding="utf-8")
        self.event(
            "run_started",
            worker_type=self._worker_type,
            **self.identity,
            seed=self.settings.seed,
            total_timesteps=self.settings.total_timesteps,
            mode=self.settings.mode,
        )
        self._thread.start()

    def completed(self) -> None:
        self._finish()
        manifest = self._write_manifest(RunStatus.COMPLETED)
        self.event("run_completed", status="completed", **self.identity, manifest=manifest)

    def cancelled(self) -> None:
        self._finish()
        self._write_manifest(RunStatus.CANCELLED)
        signal = self._requests.first
        name = None if signal is None else signal.name
        self.event(
            "run_cancelled", status="cancelled", **self.identity, signal=name, step=self._step
        )

    def failed(self) -> None:
        """Close what is open; the command line says why."""
        self._finish()
        with contextlib.suppress(OSError):
            self._write_manifest(RunStatus.FAILED)

    def _finish(self) -> None:
        self._done.set()
        if self._thread.ident is not None:
            self._thread.join()
        with self._lock:
            self._flush()
            if payload := self._bridge.take_last(time.monotonic()):
                self.event("metric", **payload)
            if self._series is not None:
                self._series.close()

    # What happens in it

    def event(self, event: str, **payload: Any) -> None:
        with self._lock:
            self._flush()
            self._emitter.emit(event, self.settings.run_id, payload)

    def step(self, episode_index: int, step_index: int, seed: int | None, **fields: Any) -> None:
        """Record a step; the fields are those of the contract, from `action` on."""
        self._record("step", episode_index, step_index=step_index, episode_seed=seed, **fields)

    def episode(self, episode_index: int, **fields: Any) -> None:
        """Record an episode; the fields are those of the contract, from `total_reward` on."""
        self._record("episode", episode_index, **fields)

    def _record(self, kind: str, episode_index: int, **fields: Any) -> None:
        if self.settings.options.get("fastlane_only"):
            return
        document = {
            "type": kind,
            "run_id": self.settings.run_id,
            "worker_id": self.settings.worker_id,
            "agent_id": fields.pop("agent_id", self.settings.agent_id),
            "episode_index": episode_index,
            **fields,
            "timestamp": time.time(),
        }
        with self._lock:
            self._lines.append(telemetry_line(document))
            if len(self._lines) >= _LINES:
                self._flush()

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        with self._lock:
            self._step = max(self._step, step)
            self._bridge.add(step, values)
            if self._series is not None:
                line = json.dumps(finite({"step": step, "values": dict(values)}))
                self._series.write(line + "\n")

    def at_step(self, step: int) -> None:
        """Note how far the run is."""
        self._step = max(self._step, step)

    def checkpoint_saved(self, path: Path, step: int, *, exact: bool) -> None:
        self._write_manifest(RunStatus.RUNNING)
        name = self.paths.relative(path)
        self.event("checkpoint_saved", path=name, step=step, exact=exact)

    def checkpoint_loaded(self, path: Path, document: Mapping[str, Any]) -> None:
        """Note what the run goes on from."""
        parent, exact = document.get("run_id"), bool(document.get("exact"))
        named = path
        if path.is_relative_to(self.paths.trainer):
            named = Path(os.path.relpath(path, self.paths.root))
        self._lineage = Lineage(parent, named.as_posix(), exact)
        self._write_manifest(RunStatus.RUNNING)
        self.event(
            "checkpoint_loaded",
            path=str(path),
            step=document.get("step"),
            parent_run_id=parent,
            exact=exact,
        )

    def heartbeat(self, **more: Any) -> None:
        rss_mb = psutil.Process().memory_info().rss / 2**20
        rate = self._bridge.steps_per_second
        self.event(
            "heartbeat",
            step=self._step,
            steps_per_second=rate,
            pid=os.getpid(),
            rss_mb=round(rss_mb, 1),
            **more,
        )

    def _keep_up(self) -> None:
        next_heartbeat = time.monotonic()  # the first says that the agent is at work
        while not self._done.wait(_TICK_S):
            with self._lock:
                self._flush()
                if self._emitter.backlog == 0:
                    payload = self._bridge.take(time.monotonic())
                    if payload is not None:
                        self.event("metric", **payload)
            if time.monotonic() >= next_heartbeat:
                next_heartbeat = time.monotonic() + HEARTBEAT_INTERVAL_S
                self.heartbeat()

    def _flush(self) -> None:
        if self._lines:
            self._emitter.write_line("".join(self._lines).rstrip("\n"))
            self._lines = []

    def write_manifest(self) -> None:
        self._write_manifest(RunStatus.RUNNING)

    def _write_manifest(self, status: RunStatus) -> dict[str, Any]:
        settings = self.settings
        states = find_states(self.paths.root)
        files = tuple(self.paths.relative(state.path) for state in states)
        exact = [state for state in states if state.is_exact]
        reserved = settings.reservation
        document = Manifest(
            run_id=settings.run_id,
            worker_type=self._worker_type,
            algo=settings.algo,
            env_id=settings.env_id,
            seed=settings.seed,
            mode=settings.mode,
            status=status,
            artifacts=Artifacts(
                checkpoints=Checkpoints(
                    directory=self.paths.relative(self.paths.checkpoints),
                    latest=self.paths.relative(exact[-1].path) if exact else None,
                    files=files,
                ),
                policy=Policy(
                    None if self.policy_path is None else self.paths.relative(self.policy_path)
                ),
                logs={"stderr": self.paths.relative(self.paths.stderr_log)},
            ),
            metrics=Metrics(finite({**self._bridge.final_values(), **self.final})),
            resources=Resources(
                None if reserved is None else dataclasses.asdict(reserved),
                steps_per_second=self._bridge.steps_per_second,
            ),
            lineage=self._lineage,
            notes=settings.options.get("notes"),
        ).to_json()
        write_json_whole(self.paths.manifest, document)
        return document
