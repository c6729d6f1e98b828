"""What a run tells the world: its events on stdout, and its manifest on disk."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from typing import Any

from cleanrl_worker.analytics import WORKER_TYPE, RunManifest
from cleanrl_worker.child import AlgorithmProcess
from cleanrl_worker.failure import explain, failed_payload, tail
from cleanrl_worker.plan import LaunchPlan
from cleanrl_worker.telemetry import EVALUATION_RETURN, MetricBridge
from mosaic.contracts.errors import EXIT_FAILED, MosaicError, StorageError
from mosaic.contracts.manifest import RunStatus
from mosaic.contracts.paths import RunPaths
from mosaic.contracts.secrets import mask_secrets
from mosaic.workers.emitter import EventEmitter
from mosaic.workers.processes import exit_code_of

_LOG = logging.getLogger(__name__)


class RunReporter:
    """Report on one run: first `started`, last one of `completed`, `cancelled` and `failed`."""

    def __init__(
        self, plan: LaunchPlan, paths: RunPaths, emitter: EventEmitter, bridge: MetricBridge
    ) -> None:
        self._plan = plan
        self._config = plan.config
        self._paths = paths
        self._emitter = emitter
        self._bridge = bridge
        bundle = None if plan.bundle is None else plan.bundle.name
        self._manifest = RunManifest(plan.config, paths, bundle=bundle, packages=plan.packages)
        self._last_batch: Mapping[str, Any] = {}
        self._identity = {
            "algo": plan.config.algo,
            "env_id": plan.config.env_id,
            "module": plan.algorithm.module,
        }

    def started(self) -> None:
        try:
            self._manifest.save(self._manifest.document(RunStatus.RUNNING))
            self._emitter.record_to(self._paths.events)
        except OSError as error:
            raise StorageError(
                f"The run directory {str(self._paths.root)!r} cannot be written: {error.strerror}."
            ) from None
        self._emit(
            "run_started",
            worker_type=WORKER_TYPE,
            **self._identity,
            seed=self._config.seed,
            total_timesteps=self._config.total_timesteps,
            mode=self._config.mode,
        )

    def passed_on(self, event: str, payload: Mapping[str, Any]) -> None:
        """Hand on an event of the algorithm's, whose files the manifest lists by then."""
        if event == "checkpoint_loaded":
            self._manifest.came_from(payload)
        elif event == "stage_changed":
            self._manifest.stage_changed(payload)
        self.files_changed()
        self._emit(event, **payload)

    def files_changed(self) -> None:
        self._write_manifest(RunStatus.RUNNING)

    def metrics(self) -> None:
        # While a line waits for its reader the bridge keeps the points, and merges them.
        if self._emitter.backlog == 0 and (payload := self._bridge.take(time.monotonic())):
            self._emit("metric", **payload)

    def last_metrics(self) -> None:
        time.sleep(self._bridge.wait_s(time.monotonic()))
        if payload := self._bridge.take_last(time.monotonic()):
            self._emit("metric", **payload)

    def heartbeat(self, child: AlgorithmProcess, **more: Any) -> None:
        self._emit(
            "heartbeat",
            step=self._bridge.step,
            steps_per_second=self._bridge.steps_per_second,
            pid=child.pid,
            rss_mb=child.rss_mb(),
            **more,
        )

    def evaluation_batch(self, child: AlgorithmProcess, batch: Mapping[str, Any]) -> None:
        """Say what a batch of evaluation episodes gave; its files are written."""
        self._last_batch = batch
        self.files_changed()
        self.heartbeat(child, evaluation=batch)

    def completed(self, child: AlgorithmProcess, finished: Mapping[str, Any]) -> None:
        manifest = self._write_manifest(RunStatus.COMPLETED, child, finished)
        self._emit("run_completed", status=RunStatus.COMPLETED, **self._identity, manifest=manifest)

    def cancelled(
        self, child: AlgorithmProcess, finished: Mapping[str, Any], signal_name: str | None
    ) -> None:
        self._write_manifest(RunStatus.CANCELLED, child, finished)
        self._emit(
            "run_cancelled",
            status=RunStatus.CANCELLED,
            **self._identity,
            signal=signal_name,
            step=self._bridge.step,
        )

    def failed(self, child: AlgorithmProcess, refused: MosaicError | None) -> tuple[int, str]:
        """Return the worker's exit code and the error; `refused` is what it gave up for itself."""
        assert child.returncode is not None, "a failed process has ended"
        variables = {**os.environ, **self._config.secrets}
        lines = [mask_secrets(line, variables) for line in tail(self._paths.stderr_log)]
        error, error_type = explain(child.returncode, lines)
        code = exit_code_of(child.returncode) or EXIT_FAILED
        if refused is not None:  # a full disk in the middle of the run
            error, error_type, code = refused.one_line(), type(refused).__name__, refused.exit_code
        log = self._paths.relative(self._paths.stderr_log)
        payload = failed_payload(error, error_type, code, stderr_log=log, stderr_tail=lines)
        self._write_manifest(RunStatus.FAILED, child)
        self._emit("run_failed", **payload)
        return code, error

    def _final_values(self) -> dict[str, float]:
        """Return the last value of each tag; of a policy evaluation the mean of its last batch."""
        values = self._bridge.final_values()
        if "avg_return" in self._last_batch:
            values[EVALUATION_RETURN] = float(self._last_batch["avg_return"])
        return values

    def _emit(self, event: str, **payload: Any) -> None:
        self._emitter.emit(event, self._config.run_id, payload)

    def _write_manifest(
        self,
        status: RunStatus,
        child: AlgorithmProcess | None = None,
        finished: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        finished = finished or {}
        document = self._manifest.document(
            status,
            final_values=self._final_values(),
            peak_rss_mb=None if child is None else child.peak_rss_mb,
            peak_gpu_mb=finished.get("peak_gpu_mb"),
            steps_per_second=finished.get("steps_per_second") or self._bridge.steps_per_second,
        )
        try:
            self._manifest.save(document)
        except OSError as error:  # a full disk degrades the run, and does not end it
            _LOG.warning("the manifest could not be written: %s", error.strerror)
        return document
