"""A daemon of a few dozen lines: the real protocol over a real port, with runs in memory."""

# ruff: noqa: N802 - the calls have the names of the protocol
from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc

from mosaic.contracts.errors import ConfigError, MosaicError, NotFound
from mosaic.contracts.identifiers import new_run_id
from mosaic.contracts.tokens import as_metadata
from mosaic.proto import trainer_pb2 as pb
from mosaic.proto.trainer_pb2_grpc import TrainerServicer, add_TrainerServicer_to_server

TOKEN = "t" * 64


class ToyDaemon(TrainerServicer):
    """What a test did to its runs is told to whoever watches; `with ToyDaemon(var)` serves it."""

    def __init__(self, var: Path) -> None:
        self.var = var
        self.runs: dict[str, pb.Run] = {}
        self.configs: dict[str, dict[str, Any]] = {}
        self.secrets: dict[str, dict[str, str]] = {}
        self.returns: dict[str, list[float]] = {}
        self.events: dict[str, list[str]] = {}
        self.log = b"first\nsecond\nthird\n"
        self._watchers: list[queue.SimpleQueue[pb.RunUpdate | None]] = []
        self._lock = threading.RLock()

    def __enter__(self) -> ToyDaemon:
        self._server = grpc.server(ThreadPoolExecutor(8))
        add_TrainerServicer_to_server(self, self._server)
        self.target = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        token = self.var / "trainer" / "daemon.token"
        token.parent.mkdir(parents=True, exist_ok=True)
        token.write_text(TOKEN)
        self._server.start()
        return self

    def __exit__(self, *error: object) -> None:
        for watcher in self._watchers:
            watcher.put(None)
        self._server.stop(0).wait()

    # What a test does

    def add(self, **fields: Any) -> pb.Run:
        defaults = {"run_id": new_run_id(), "state": "EXECUTING", "algo": "toy", "env_id": "Toy-v0"}
        run = pb.Run(**(defaults | {"created_at": time.time(), "mode": "train"} | fields))
        self.configs.setdefault(run.run_id, {})
        self._tell(run)
        return run

    def change(self, run_id: str, **fields: Any) -> pb.Run:
        with self._lock:
            run = pb.Run()
            run.CopyFrom(self.runs[run_id])
            for name, value in fields.items():
                setattr(run, name, value)
            self._tell(run)
            return run

    def end(self, run_id: str, outcome: str = "succeeded", **fields: Any) -> pb.Run:
        fields = {"state": "TERMINATED", "ended_at": time.time(), **fields}
        return self.change(run_id, outcome=outcome, is_cancelling=False, **fields)

    def _tell(self, run: pb.Run, *, is_removed: bool = False) -> None:
        with self._lock:
            run.revision += 1
            self.runs[run.run_id] = run
            for watcher in self._watchers:
                watcher.put(pb.RunUpdate(run=run, is_removed=is_removed))

    # The calls

    def SubmitRun(self, request: pb.SubmitRunRequest, context: Any) -> pb.SubmitRunResponse:
        self._check(context)
        document = json.loads(request.config_json)
        config = document["metadata"]["worker"]["config"]
        if config["env_id"] == "Refuse-v0":
            self._abort(context, ConfigError("env_id='Refuse-v0' is refused.", hint="Try Toy-v0."))
        for run_id, known in self.configs.items():
            if document.get("idempotency_key", "") == known.get("idempotency_key"):
                return pb.SubmitRunResponse(run=self.runs[run_id])
        run = self.add(
            state="INIT",
            algo=config["algo"],
            env_id=config["env_id"],
            seed=config["seed"],
            total_timesteps=config.get("total_timesteps"),
            mode=config["extras"].get("mode", "train"),
            name=document.get("run_name", ""),
        )
        self.configs[run.run_id] = document
        self.secrets[run.run_id] = dict(request.secrets)
        return pb.SubmitRunResponse(run=run, is_new=True)

    def GetRun(self, request: pb.GetRunRequest, context: Any) -> pb.RunDetails:
        run = self._find(request.run_id, context)
        return pb.RunDetails(
            run=run,
            config_json=json.dumps(self.configs[run.run_id]),
            run_dir=str(self.var / "trainer" / "runs" / run.run_id),
            event_lines=self.events.get(run.run_id, []),
        )

    def ListRuns(self, request: pb.ListRunsRequest, context: Any) -> pb.ListRunsResponse:
        self._check(context)
        runs = sorted(self.runs.values(), key=lambda run: run.run_id, reverse=True)
        if request.only_unfinished:
            runs = [run for run in runs if not run.outcome]
        if request.outcomes:
            runs = [run for run in runs if run.outcome in request.outcomes]
        start = int(request.page_token or 0)
        page = runs[start : start + (request.page_size or 100)]
        more = start + len(page) < len(runs)
        token = str(start + len(page)) if more else ""
        return pb.ListRunsResponse(runs=page, next_page_token=token, total_count=len(runs))

    def WatchRuns(self, request: pb.WatchRunsRequest, context: Any) -> Iterator[pb.RunUpdate]:
        self._check(context)
        watcher: queue.SimpleQueue[pb.RunUpdate | None] = queue.SimpleQueue()
        with self._lock:
            self._watchers.append(watcher)
            known = list(self.runs.values())
        context.add_callback(lambda: watcher.put(None))
        for run in known:
            if not request.run_ids or run.run_id in request.run_ids:
                yield pb.RunUpdate(run=run)
        yield pb.RunUpdate(is_snapshot_end=True)
        while (update := watcher.get()) is not None:
            if not request.run_ids or update.run.run_id in request.run_ids:
                yield update

    def CancelRun(self, request: pb.RunRequest, context: Any) -> pb.Run:
        run = self._find(request.run_id, context)
        if run.outcome:
            self._abort(context, ConfigError(f"The run {run.run_id} has ended already."))
        threading.Timer(0.1, self.end, (run.run_id, "cancelled")).start()
        return self.change(run.run_id, is_cancelling=True)

    def PauseRun(self, request: pb.RunRequest, context: Any) -> pb.Run:
        run = self._find(request.run_id, context)
        threading.Timer(0.1, self.change, (run.run_id,), {"state": "PAUSED"}).start()
        return run

    def UnpauseRun(self, request: pb.RunRequest, context: Any) -> pb.Run:
        return self.change(self._find(request.run_id, context).run_id, state="EXECUTING")

    def DeleteRun(self, request: pb.DeleteRunRequest, context: Any) -> pb.Run:
        run = self._find(request.run_id, context)
        if request.purge:
            self._tell(run, is_removed=True)
            return self.runs.pop(run.run_id)
        return self.change(run.run_id, deleted_at=time.time())

    def RestoreRun(self, request: pb.RunRequest, context: Any) -> pb.Run:
        run = self._find(request.run_id, context)
        restored = pb.Run()
        restored.CopyFrom(run)
        restored.ClearField("deleted_at")
        self._tell(restored)
        return restored

    def StreamMetrics(
        self, request: pb.StreamMetricsRequest, context: Any
    ) -> Iterator[pb.MetricsUpdate]:
        values = self.returns.get(self._find(request.run_id, context).run_id, [])
        series = pb.Series(
            tag="charts/episodic_return",
            points_per_bucket=1,
            mean=values,
            total_points=len(values),
        )
        yield pb.MetricsUpdate(series=[series], is_snapshot=True)
        while request.follow and context.is_active() and not self.runs[request.run_id].outcome:
            time.sleep(0.01)

    def TailLogs(self, request: pb.TailLogsRequest, context: Any) -> Iterator[pb.LogChunk]:
        if request.run_id:
            self._find(request.run_id, context)
        if request.stream == "worker":
            yield pb.LogChunk(data=b"toy-worker: WARNING: this is only a toy\n")
            return
        lines = self.log.splitlines(keepends=True)[-request.lines :]
        yield pb.LogChunk(data=b"".join(lines))
        if request.follow:
            yield pb.LogChunk(data=b"added \xff later\n")

    def GetHealth(self, request: pb.GetHealthRequest, context: Any) -> pb.Health:
        self._check(context)
        return pb.Health(
            version="1", pid=1, target=self.target, var_dir=str(self.var), total_cpus=2, free_cpus=1
        )

    def ListWorkers(self, request: pb.ListWorkersRequest, context: Any) -> pb.ListWorkersResponse:
        raise ZeroDivisionError("a bug of the daemon's")

    def _check(self, context: Any) -> None:
        if as_metadata(TOKEN) not in tuple(context.invocation_metadata()):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "no token")

    def _find(self, prefix: str, context: Any) -> pb.Run:
        self._check(context)
        found = [run for run_id, run in self.runs.items() if run_id.startswith(prefix)]
        if not found:
            self._abort(context, NotFound(f"There is no run {prefix!r}."))
        if len(found) > 1:
            self._abort(context, ConfigError(f"{prefix!r} is ambiguous: {len(found)} runs."))
        return found[0]

    def _abort(self, context: Any, error: MosaicError) -> None:
        context.set_trailing_metadata((("mosaic-error", error.code),))
        context.abort(grpc.StatusCode[error.grpc_status], error.one_line())
