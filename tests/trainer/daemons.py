"""A daemon for the tests: a process of its own in a data directory of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc

from mosaic.contracts.paths import VarPaths
from mosaic.contracts.tokens import as_metadata, read_token
from mosaic.proto import trainer_pb2 as pb
from mosaic.proto.trainer_pb2_grpc import TrainerStub

SITE = Path(__file__).parent / "site"
TIMEOUT_S = 30.0


class Daemon:
    """Start, kill and call a daemon."""

    def __init__(self, root: Path, settings: str = "cpus = 8\nmemory_mb = 65536") -> None:
        self.paths = VarPaths(root)
        root.mkdir(parents=True, exist_ok=True)
        self.paths.settings.write_text(f"[trainer]\nport = 0\n{settings}\n")
        self.process: subprocess.Popen[bytes] | None = None
        self.channel: grpc.Channel | None = None

    def start(self) -> TrainerStub:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mosaic.trainer"],
            env={**os.environ, "MOSAIC_VAR_DIR": str(self.paths.root)},
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        pid = self.process.pid
        self.wait(lambda: self._info().get("pid") == pid, f"daemon.json of {pid}")
        target = f"127.0.0.1:{self._info()['port']}"
        options = [("grpc.max_receive_message_length", 64 << 20)]
        self.channel = grpc.insecure_channel(target, options=options)
        return TrainerStub(self.channel)

    def _info(self) -> dict[str, Any]:
        assert self.process is not None
        if self.process.poll() is not None:
            assert self.process.stderr is not None
            raise AssertionError(self.process.stderr.read().decode())
        try:
            return dict(json.loads(self.paths.daemon_info.read_text()))
        except (FileNotFoundError, ValueError):
            return {}

    @property
    def metadata(self) -> list[tuple[str, str]]:
        token = read_token(self.paths.daemon_token)
        assert token is not None
        return [as_metadata(token)]

    def call(self, name: str, request: Any) -> Any:
        assert self.channel is not None
        stub = TrainerStub(self.channel)
        return getattr(stub, name)(request, metadata=self.metadata, timeout=TIMEOUT_S)

    def submit(self, env_id: str = "Tick-v0", steps: int = 100, **more: Any) -> str:
        run = self.call("SubmitRun", pb.SubmitRunRequest(config_json=config(env_id, steps, **more)))
        return str(run.run.run_id)

    def run(self, run_id: str) -> pb.Run:
        return self.call("GetRun", pb.GetRunRequest(run_id=run_id)).run

    def details(self, run_id: str) -> pb.RunDetails:
        return self.call("GetRun", pb.GetRunRequest(run_id=run_id, with_events=True))

    def wait_for(self, run_id: str, *states: str, timeout_s: float = TIMEOUT_S) -> pb.Run:
        self.wait(lambda: self.run(run_id).state in states, f"{run_id} {states}", timeout_s)
        return self.run(run_id)

    def series(self, run_id: str, tag: str) -> pb.Series:
        request = pb.StreamMetricsRequest(run_id=run_id, tags=[tag], max_points=20_000)
        assert self.channel is not None
        stub = TrainerStub(self.channel)
        [series] = next(iter(stub.StreamMetrics(request, metadata=self.metadata))).series
        return series

    def steps(self, run_id: str, tag: str) -> list[int]:
        """Return the steps of a series, every one."""
        series = self.series(run_id, tag)
        assert series.points_per_bucket == 1
        return list(series.first_step)

    def kill(self) -> None:
        """End the daemon as a crash would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self._close()

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(TIMEOUT_S)
        self._close()
        return code

    def _close(self) -> None:
        if self.channel is not None:
            self.channel.close()
            self.channel = None
        assert self.process is not None
        assert self.process.stderr is not None
        self.process.stderr.close()

    def wait(self, is_true: Callable[[], bool], what: str, timeout_s: float = TIMEOUT_S) -> None:
        deadline = time.monotonic() + timeout_s
        while not is_true():
            assert time.monotonic() < deadline, f"waited {timeout_s} s for {what}"
            time.sleep(0.05)


def config(env_id: str, steps: int, *, rate: float = 100.0, **more: Any) -> str:
    """Return the run config of a ticker; further keys go to the run config itself."""
    worker = {
        "algo": "tick",
        "env_id": env_id,
        "total_timesteps": steps,
        "seed": 1,
        "extras": {"algo_params": {"rate": rate}},
    }
    return json.dumps(
        {"metadata": {"worker": {"module": "ticker_worker.cli", "config": worker}}, **more}
    )


def processes_of(run_id: str) -> list[int]:
    """Return the living processes that carry the run's id, or that its proxy runs."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                environment = (entry / "environ").read_bytes().split(b"\0")
                words = (entry / "cmdline").read_bytes().split(b"\0")
                named = f"MOSAIC_RUN_ID={run_id}".encode() in environment
                if named or run_id.encode() in words:
                    found.append(int(entry.name))
    return found


@contextlib.contextmanager
def running(root: Path, settings: str = "cpus = 8\nmemory_mb = 65536") -> Iterator[Daemon]:
    """Serve for the length of a test, and leave no process behind."""
    daemon = Daemon(root, settings)
    daemon.start()
    try:
        yield daemon
    finally:
        if daemon.process is not None and daemon.process.poll() is None:
            for run in daemon.call("ListRuns", pb.ListRunsRequest(only_unfinished=True)).runs:
                for pid in processes_of(run.run_id):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            daemon.stop()
