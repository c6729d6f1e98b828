"""Processes of a run: found by every trace they leave, and never mistaken for others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mosaic.workers.process_tree import (
    ProcessIdentity,
    find_run_processes,
    identify,
    kill_all,
    stop_all,
)

RUN = f"tree-{os.getpid()}"

Start = Callable[..., ProcessIdentity]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start `sleep` with a run id or without, and end it afterwards."""
    processes: list[subprocess.Popen[bytes]] = []

    def start_one(run_id: str | None = None, **options: Any) -> ProcessIdentity:
        environment = {"PATH": os.environ["PATH"]} | ({"MOSAIC_RUN_ID": run_id} if run_id else {})
        process = subprocess.Popen(["sleep", "60"], env=environment, **options)
        processes.append(process)
        identity = identify(process.pid)
        assert identity is not None
        return identity

    yield start_one
    for process in processes:
        process.kill()
        process.wait()


def test_a_process_that_ended_is_not_alive_even_before_it_was_waited_for() -> None:
    process = subprocess.Popen(["sleep", "60"])
    identity = identify(process.pid)
    assert identity is not None
    assert identity.is_alive()
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not identity.is_alive(), "a zombie"
    process.wait()
    assert not identity.is_alive()
    assert identify(process.pid) is None
    assert not identity.send(signal.SIGTERM)


def test_another_process_with_the_same_pid_is_neither_it_nor_hit(start: Start) -> None:
    now = start()
    before = ProcessIdentity(now.pid, now.start_ticks - 100)
    assert not before.is_alive()
    assert not before.send(signal.SIGKILL)
    time.sleep(0.05)
    assert now.is_alive()


def test_a_name_with_parentheses_and_spaces_is_no_hindrance(tmp_path: Any) -> None:
    program = tmp_path / "a ) 1 (b"
    program.symlink_to(sys.executable)
    process = subprocess.Popen([program, "-c", "import time; time.sleep(60)"])
    identity = identify(process.pid)
    assert identity is not None
    assert identity.is_alive()
    process.kill()
    process.wait()


def test_processes_are_found_by_the_runs_id_in_their_environment(start: Start) -> None:
    mine = start(RUN, start_new_session=True)
    start(f"{RUN}-2", start_new_session=True)
    start(None)
    assert find_run_processes(RUN, None) == [mine]
    assert find_run_processes(RUN, None, exclude=[mine.pid]) == []


def test_processes_are_found_by_the_workers_session_group_and_descent(start: Start) -> None:
    script = (
        "import os, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '60'], env={})\n"
        "apart = subprocess.Popen(['sleep', '60'], env={}, start_new_session=True)\n"
        "print(child.pid, apart.pid, flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    child, apart = map(int, process.stdout.readline().split())
    worker = identify(process.pid)
    found = {identity.pid for identity in find_run_processes(RUN, worker)}
    assert found == {process.pid, child, apart}
    process.kill()
    process.wait()
    process.stdout.close()
    left = find_run_processes(RUN, worker)
    assert [identity.pid for identity in left] == [child], "of the dead worker's session"
    assert kill_all(lambda: find_run_processes(RUN, worker), timeout_s=5) == 1
    os.kill(apart, signal.SIGKILL)


def test_a_session_of_somebody_who_got_the_workers_pid_is_left_alone(start: Start) -> None:
    stranger = start(None, start_new_session=True)
    worker = ProcessIdentity(stranger.pid, stranger.start_ticks - 100)
    assert find_run_processes(RUN, worker) == []


def test_orphans_of_a_reaper_belong_to_the_run(start: Start) -> None:
    reaper = start(None)
    assert find_run_processes(RUN, None, reapers=[reaper.pid]) == []
    mine = start(None, start_new_session=True)
    assert mine in find_run_processes(RUN, None, reapers=[os.getpid()])


def test_the_caller_is_never_among_them() -> None:
    code = (
        "from mosaic.workers.process_tree import find_run_processes, identify\n"
        "import os\n"
        f"print(find_run_processes({RUN!r}, identify(os.getpid())))"
    )
    environment = {**os.environ, "MOSAIC_RUN_ID": RUN}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert done.stdout == b"[]\n", done.stderr


def test_stopping_reaches_them_all(start: Start) -> None:
    processes = [start(RUN) for _ in range(3)]
    assert stop_all(lambda: find_run_processes(RUN, None), timeout_s=5)
    assert all(process.is_stopped() for process in processes)
    assert kill_all(lambda: find_run_processes(RUN, None), timeout_s=5) == 3, "stopped or not"


def test_killing_gives_up_after_its_timeout() -> None:
    started = time.monotonic()
    immortal = ProcessIdentity(1, 0)
    assert kill_all(lambda: [immortal], timeout_s=0.2) == 0
    assert 0.2 <= time.monotonic() - started < 2
