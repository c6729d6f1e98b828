"""The life of a run: start the algorithm process, follow it, and see how it ends."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cleanrl_worker.child import AlgorithmProcess
from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.failure import rejection
from cleanrl_worker.lane_settings import lane_variables
from cleanrl_worker.plan import LaunchPlan, plan_launch
from cleanrl_worker.reporting import RunReporter
from cleanrl_worker.stopping import STOP_GRACE_S, Stopper, StopRequests
from cleanrl_worker.telemetry import MetricBridge
from cleanrl_worker.wandb_sink import wandb_variables
from mosaic.contracts.errors import EXIT_OK, MosaicError
from mosaic.contracts.events import HEARTBEAT_INTERVAL_S, METRIC_INTERVAL_S
from mosaic.contracts.paths import RunPaths, VarPaths
from mosaic.workers.emitter import EventEmitter
from mosaic.workers.run_directory import RunDirectory

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Timing:
    heartbeat_s: float = HEARTBEAT_INTERVAL_S
    metric_s: float = METRIC_INTERVAL_S
    grace_s: float = STOP_GRACE_S
    tick_s: float = 0.1  # the longest time until a signal or the end of the child is noticed


_USUAL = Timing()


class CleanRLWorkerRuntime:
    """Run one config. `launcher` stands in for the command that its mode is started with.

    `announce` is called with the resolved config before anything is created or started.
    """

    def __init__(
        self,
        config: CleanRLWorkerConfig,
        var_paths: VarPaths,
        emitter: EventEmitter,
        *,
        launcher: Sequence[str] | None = None,
        announce: Callable[[CleanRLWorkerConfig], None] | None = None,
        timing: Timing = _USUAL,
    ) -> None:
        self._config = config
        self._var_paths = var_paths
        self._emitter = emitter
        self._launcher = launcher
        self._announce = announce
        self._timing = timing

    def run(self) -> int:
        """Train or evaluate, and return the exit code; what cannot be run is a MosaicError."""
        plan = plan_launch(self._config)
        if self._announce is not None:
            self._announce(plan.config)
        paths = self._var_paths.run(plan.config.run_id, plan.config.mode)
        with StopRequests() as requests:
            directory = RunDirectory.claim(paths)
            bridge = MetricBridge(interval_s=self._timing.metric_s)
            reporter = RunReporter(plan, paths, self._emitter, bridge)
            try:
                reporter.started()
                child = _start(plan, paths, self._launcher)
                _LOG.info("process %d runs %s %s", child.pid, plan.config.algo, plan.arguments)
                supervision = _Supervision(child, reporter, bridge, requests, self._timing)
                supervision.follow()
                supervision.check_accepted()
            except MosaicError:
                directory.discard()
                raise
            return supervision.conclude(paths)


def _start(plan: LaunchPlan, paths: RunPaths, launcher: Sequence[str] | None) -> AlgorithmProcess:
    return AlgorithmProcess.start(
        plan.command(launcher),
        cwd=paths.root,
        stdout=paths.stdout_log,
        stderr=paths.stderr_log,
        run_id=plan.config.run_id,
        variables={
            **lane_variables(plan.config.options),
            **plan.config.secrets,
            **wandb_variables(plan.config.options, os.environ),
            **plan.variables,
        },
        code=plan.code,
    )


class _Supervision:
    """Follow one algorithm process from its start to its end."""

    def __init__(
        self,
        child: AlgorithmProcess,
        reporter: RunReporter,
        bridge: MetricBridge,
        requests: StopRequests,
        timing: Timing,
    ) -> None:
        self._child = child
        self._reporter = reporter
        self._bridge = bridge
        self._requests = requests
        self._timing = timing
        self._is_prepared = False
        self._rejected: dict[str, Any] | None = None
        self._finished: dict[str, Any] = {}

    def follow(self) -> None:
        """Hand on what the algorithm says until it has ended."""
        stopper = Stopper(self._child, self._requests, self._timing.grace_s)
        next_heartbeat = time.monotonic() + self._timing.heartbeat_s
        while not self._child.poll():
            for message in self._child.read(self._timing.tick_s):
                self._handle(message)
            stopper.act()
            self._reporter.metrics()
            if time.monotonic() >= next_heartbeat:
                next_heartbeat = time.monotonic() + self._timing.heartbeat_s
                self._reporter.heartbeat(self._child)
        for message in self._child.read_rest():
            self._handle(message)
        self._child.close()

    def _handle(self, message: dict[str, Any]) -> None:
        kind = message.pop("kind")
        if kind == "metric":
            self._bridge.add(message["step"], message["values"])
        elif kind == "prepared":
            self._is_prepared = True
            for warning in message.get("warnings") or ():
                _LOG.warning("%s", warning)
        elif kind == "rejected":
            self._rejected = message
        elif kind == "finished":
            self._finished = message
        elif kind == "evaluation_batch":
            self._reporter.evaluation_batch(self._child, message)
        elif kind == "note":
            _LOG.warning("%s", message.get("text"))
            self._reporter.files_changed()
        elif kind == "model_saved":
            self._reporter.files_changed()
        elif kind != "summary":
            self._reporter.passed_on(kind, message)

    def check_accepted(self) -> None:
        """Raise what the algorithm process refused the config with."""
        if self._rejected is not None and not self._is_prepared:
            raise rejection(self._rejected)

    def conclude(self, paths: RunPaths) -> int:
        """Say how the run ended, and return the worker's exit code."""
        self._reporter.last_metrics()
        status = self._finished.get("status")
        if status == "completed" and self._child.returncode == 0:
            self._reporter.completed(self._child, self._finished)
            return EXIT_OK
        if self._requests.first is not None or status == "stopped":
            signal = self._requests.first
            self._reporter.cancelled(self._child, self._finished, signal.name if signal else None)
            return self._requests.exit_code
        refused = None if self._rejected is None else rejection(self._rejected)
        code, error = self._reporter.failed(self._child, refused)
        print(f"cleanrl-worker: {error} Its log: {paths.stderr_log}", file=sys.stderr)
        return code
