"""Processes: dying with a parent, and what an exit means."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from mosaic.workers.processes import describe_exit, exit_code_of

SOURCE = str(Path(__file__).parents[2] / "src")

CHILD = """
import time
from mosaic.workers.processes import die_with_parent
die_with_parent()
print("ready", flush=True)
time.sleep(60)
"""

PARENT = """
import os, subprocess, sys
environment = {**os.environ, "MOSAIC_PARENT_PID": str(os.getpid())}
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], env=environment)
print(child.pid, flush=True)
child.wait()
"""


def wait_until_gone(pid: int, timeout_s: float = 5.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


def test_the_child_of_a_worker_that_was_killed_dies_with_it() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, CHILD],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert parent.stdout.readline() == b"ready\n"
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert wait_until_gone(child)


def test_a_child_whose_worker_died_before_it_could_ask_dies_at_once() -> None:
    environment = {**os.environ, "PYTHONPATH": SOURCE, "MOSAIC_PARENT_PID": "1"}
    done = subprocess.run([sys.executable, "-c", CHILD], env=environment, timeout=10)
    assert done.returncode == -signal.SIGKILL


def test_a_process_that_no_worker_started_is_left_alone() -> None:
    code = CHILD.replace("time.sleep(60)", "")
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    environment.pop("MOSAIC_PARENT_PID", None)
    assert subprocess.run([sys.executable, "-c", code], env=environment, timeout=10).returncode == 0


@pytest.mark.parametrize(
    ("returncode", "words"),
    [
        (0, "ended with exit code 0"),
        (3, "ended with exit code 3"),
        (-9, "killed by signal 9 (SIGKILL)"),
        (-11, "killed by signal 11 (SIGSEGV)"),
        (-99, "killed by signal 99"),
    ],
)
def test_an_exit_is_said_in_words(returncode: int, words: str) -> None:
    assert describe_exit(returncode) == words


@pytest.mark.parametrize(
    ("returncode", "code"),
    [(0, 0), (1, 1), (2, 1), (3, 1), (4, 1), (5, 5), (77, 77), (-9, 137), (-11, 139), (-15, 143)],
)
def test_an_algorithms_code_never_looks_like_one_of_ours(returncode: int, code: int) -> None:
    assert exit_code_of(returncode) == code
