"""Runs on this machine: started apart, found again, and ended to the last process."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mosaic.contracts.paths import VarPaths
from mosaic.trainer.executors.base import Executor, Launch
from mosaic.trainer.executors.local import LocalExecutor
from mosaic.workers.process_tree import find_run_processes

RUN = "01EXECUTOR"
CANARY = "c4n4ry-5ecret"

# A worker that tells its environment, and leaves a child that hides from signals and names.
WORKER = """
import json, os, signal, sys, time
signal.signal(signal.SIGUSR1, lambda *_: print('"usr1"', flush=True))
child = os.fork()
if child == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork():
        os._exit(0)
    os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)"], {})
os.waitpid(child, 0)
print(json.dumps(dict(os.environ)), flush=True)
while True:
    time.sleep(0.05)
"""


def launch(command: list[str], **environment: str) -> Launch:
    return Launch(
        run_id=RUN,
        mode="train",
        command=command,
        environment=environment,
        secrets={"HF_TOKEN": CANARY},
        registration={"worker_id": "w", "worker_kind": "toy"},
    )


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def paths(tmp_path: Path) -> VarPaths:
    return VarPaths(tmp_path)


@pytest.fixture
def executor(paths: VarPaths) -> Iterator[Executor]:
    made = LocalExecutor(paths)
    yield made
    made.kill(RUN)


def told(paths: VarPaths) -> str:
    events = paths.run(RUN).events
    return events.read_text() if events.exists() else ""


def test_a_run_outlives_the_executor_that_started_it_and_is_killed_whole(
    executor: Executor, paths: VarPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOSAIC_RUN_ID", "another")  # as in a daemon started from inside a run
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert not executor.is_alive(RUN)
    executor.start(launch([sys.executable, "-c", WORKER], CUDA_VISIBLE_DEVICES=""))
    assert executor.is_alive(RUN)
    wait_for(lambda: "\n" in told(paths))
    environment = json.loads(told(paths).splitlines()[0])
    assert environment["MOSAIC_RUN_ID"] == RUN
    assert environment["MOSAIC_VAR_DIR"] == str(paths.root)
    assert (environment["HF_TOKEN"], environment["OMP_NUM_THREADS"]) == (CANARY, "1")
    assert environment["CUDA_VISIBLE_DEVICES"] == ""

    state = executor.worker_state(RUN)
    assert state is not None
    assert os.getsid(state.proxy.pid) == state.proxy.pid != os.getsid(0)

    later = LocalExecutor(paths)
    assert later.is_alive(RUN)
    wait_for(lambda: later.signal(RUN, signal.SIGUSR1) and "usr1" in told(paths))
    assert later.kill(RUN) == 3  # the grandchild without a name, the worker, the proxy
    assert find_run_processes(RUN, state.worker, reapers=[state.proxy.pid]) == []
    wait_for(lambda: not executor.is_alive(RUN))
    assert not later.is_alive(RUN)
    assert not later.signal(RUN, signal.SIGUSR1)
    assert later.kill(RUN) == 0


def test_no_secret_is_written(executor: Executor, paths: VarPaths) -> None:
    executor.start(launch([sys.executable, "-c", "print('{}')"]))
    wait_for(lambda: told(paths))
    files = [path for path in paths.root.rglob("*") if path.is_file()]
    assert paths.proxy(RUN).launch in files
    assert not [path for path in files if CANARY.encode() in path.read_bytes()]


def test_a_proxy_that_ended_is_no_zombie(executor: Executor, paths: VarPaths) -> None:
    executor.start(launch(["false"]))
    wait_for(lambda: (state := executor.worker_state(RUN)) and state.phase == "ended")
    state = executor.worker_state(RUN)
    assert state is not None
    assert state.exit is not None
    assert state.exit.exit_code == 1
    state.proxy.send(signal.SIGKILL)
    wait_for(lambda: not Path(f"/proc/{state.proxy.pid}").exists())
    wait_for(lambda: not executor.is_alive(RUN))
