"""A run as its daemon starts it: a launch file, a proxy, and a toy worker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from mosaic.contracts.paths import RunPaths, VarPaths
from mosaic.contracts.tokens import RUN_TOKEN_VARIABLE, run_token
from mosaic.workers.process_tree import ProcessIdentity, find_run_processes
from mosaic.workers.proxy.state import ProxyState, read_state
from tests.workers.fake_daemon import DAEMON_TOKEN, FakeDaemon, wait_until

SOURCE = str(Path(__file__).parents[2] / "src")

PROXY = ("-m", "mosaic.workers.proxy")

# Every toy worker begins with this.
PRELUDE = """
import json, os, signal, sys, time
def say(**fields):
    os.write(1, json.dumps(fields).encode() + b"\\n")
def wait_for(name):
    while not os.path.exists(os.path.join(os.environ["MOSAIC_VAR_DIR"], name)):
        time.sleep(0.01)
"""


class ProxiedRun:
    """One run with its daemon, its proxies and the toy that is its worker."""

    def __init__(self, var_dir: Path, run_id: str, toy: str) -> None:
        self.var_dir = var_dir
        self.run_id = run_id
        self.paths = VarPaths(var_dir).proxy(run_id)
        self.run_paths: RunPaths = VarPaths(var_dir).run(run_id)
        self.daemon = FakeDaemon(var_dir, run_id)
        self.proxies: list[subprocess.Popen[bytes]] = []
        self.environment: dict[str, str] = {}  # more of the proxy's
        self.paths.root.mkdir(parents=True)
        self.write_launch([sys.executable, "-c", PRELUDE + toy])

    def write_launch(self, command: list[str]) -> None:
        launch = {
            "run_id": self.run_id,
            "run_dir": str(self.run_paths.root),
            "events": str(self.run_paths.events),
            "command": command,
            "environment": {"TOY": "1"},
            "registration": {
                "worker_id": "toy-1",
                "worker_kind": "toy",
                "schema_id": "toy.ppo",
                "schema_version": 1,
                "supports_pause": True,
                "supports_checkpoint": False,
            },
            "var_dir": str(self.var_dir),
        }
        self.paths.launch.write_text(json.dumps(launch))

    def start_proxy(self, *program: str) -> subprocess.Popen[bytes]:
        environment = {name: value for name, value in os.environ.items() if "MOSAIC" not in name}
        environment[RUN_TOKEN_VARIABLE] = run_token(DAEMON_TOKEN, self.run_id)
        with self.paths.log.open("ab") as log:
            proxy = subprocess.Popen(
                [sys.executable, "-P", *(program or PROXY), str(self.paths.launch)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**environment, "PYTHONPATH": SOURCE, **self.environment},
            )
        self.proxies.append(proxy)
        return proxy

    def start(self) -> ProxiedRun:
        self.daemon.start()
        self.start_proxy()
        return self

    def release(self, name: str) -> None:
        """Let a toy go on that waits for this file."""
        (self.var_dir / name).touch()

    def end(self, timeout_s: float = 30.0) -> Any:
        """Wait for the proxy, and return what it said of the worker's end."""
        assert self.proxies[-1].wait(timeout_s) == 0, self.paths.log.read_text()
        return self.daemon.said("exited")[-1]

    def state(self) -> ProxyState | None:
        return read_state(self.paths.state)

    def worker(self) -> ProcessIdentity:
        wait_until(lambda: (state := self.state()) is not None and state.worker, what="the worker")
        state = self.state()
        assert state is not None
        assert state.worker is not None
        return state.worker

    def processes(self) -> list[ProcessIdentity]:
        return find_run_processes(self.run_id, None)

    def events(self) -> list[Any]:
        return [json.loads(line) for line in self.daemon.lines]

    def close(self) -> None:
        for proxy in self.proxies:
            if proxy.poll() is None:
                proxy.kill()
            proxy.wait()
        self.daemon.stop()
        for process in self.processes():
            process.send(9)  # type: ignore[arg-type]
