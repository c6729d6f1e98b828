"""The lives of environment processes: none outlives its batch, its run or an error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from cleanrl_worker.envs.processes import ProcessEnvs
from cleanrl_worker.envs.registry import resolve

ROOT = Path(__file__).parents[3]
DEADLINE_S = 20.0


def env_processes(parent: int) -> list[psutil.Process]:
    return [
        child
        for child in psutil.Process(parent).children()
        if child.status() != psutil.STATUS_ZOMBIE  # of an earlier test, not yet waited for
        and "cleanrl_worker.envs.process_main" in child.cmdline()
    ]


def test_processes_ignore_signals_and_end_with_their_batch() -> None:
    """A signal to the whole group must leave the training a chance to end in its own time."""
    envs = ProcessEnvs(resolve("CartPole-v1"), 4, processes=2)
    envs.reset(1)
    processes = env_processes(os.getpid())
    assert len(processes) == 2
    for process in processes:
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
    assert envs.step(np.zeros(4, np.int64)).obs.shape == (4, 4)
    envs.close()
    assert not env_processes(os.getpid())


def test_a_dead_process_ends_the_batch_with_an_error() -> None:
    envs = ProcessEnvs(resolve("CartPole-v1"), 2, processes=2)
    envs.reset(1)
    env_processes(os.getpid())[0].kill()
    with pytest.raises(RuntimeError, match=r"Environment process \d+ killed by signal 9"):
        envs.step(np.zeros(2, np.int64))
    envs.close()
    assert not env_processes(os.getpid())


HANGING_RUN = """
import time
from cleanrl_worker.envs.processes import ProcessEnvs
from cleanrl_worker.envs.registry import resolve
envs = ProcessEnvs(resolve("CartPole-v1"), 2, processes=2)
print("ready", flush=True)
time.sleep(60)
"""


def test_processes_end_when_their_run_is_killed() -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", HANGING_RUN],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    processes = env_processes(run.pid)
    assert len(processes) == 2
    run.kill()
    run.wait()
    run.stdout.close()
    deadline = time.monotonic() + DEADLINE_S
    while any(process.is_running() for process in processes):
        assert time.monotonic() < deadline, "environment processes outlived their run"
        time.sleep(0.02)
