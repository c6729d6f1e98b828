"""Cancel, pause and unpause: what the daemon asks of a run, and what is left of it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.proto import trainer_pb2 as pb
from mosaic.workers.process_tree import ProcessIdentity, identify
from tests.workers.conftest import MakeRun
from tests.workers.fake_daemon import wait_until
from tests.workers.proxied import ProxiedRun

# Starts processes that ignore SIGTERM, lie in sessions of their own, and have lost parent and
# environment: nothing of theirs names the run but argv[0], which is for the test alone.
HIDE = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def hide(count=1):
    for _ in range(count):
        if (child := os.fork()) == 0:
            os.setsid()
            if os.fork() == 0:
                os.execve("/bin/sleep", [os.environ["MOSAIC_RUN_ID"] + "-hidden", "300"], {})
            os._exit(0)
        os.waitpid(child, 0)
"""

STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN); say(n=1); time.sleep(60)"


def cancel(run: ProxiedRun, grace_s: float) -> None:
    run.daemon.commands.put(pb.Command(cancel=pb.Cancel(grace_s=grace_s)))


def hidden(run: ProxiedRun) -> list[int]:
    """Return the processes that only their argv[0] gives away."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                name = (entry / "cmdline").read_bytes().split(b"\0")[0]
            except OSError:
                continue
            if name == f"{run.run_id}-hidden".encode():
                found.append(int(entry.name))
    return found


@pytest.fixture
def strangers() -> Iterator[list[ProcessIdentity]]:
    """Processes that only look as if they belonged to a run."""
    like = {"MOSAIC_RUN_ID": "another-run", "NOT_MOSAIC_RUN_ID": "x"}
    processes = [
        subprocess.Popen(["sleep", "300"], env={**os.environ, **like}, start_new_session=True),
        subprocess.Popen(["sleep", "300"]),
    ]
    found = [identify(process.pid) for process in processes]
    yield [identity for identity in found if identity is not None]
    for process in processes:
        process.kill()
        process.wait()


def test_a_cancelled_worker_ends_in_good_order_within_its_grace(make_run: MakeRun) -> None:
    run = make_run(
        "def stop(*_): say(n=2); sys.exit(143)\n"
        "signal.signal(signal.SIGTERM, stop); say(n=1); time.sleep(60)"
    ).start()
    wait_until(lambda: run.daemon.lines, what="a line")
    cancel(run, grace_s=10)
    end = run.end()
    assert (end.exit_code, end.killed_leftovers) == (143, 0)
    assert run.events() == [{"n": 1}, {"n": 2}]


def test_a_worker_that_does_not_stop_is_killed_when_its_grace_is_over(make_run: MakeRun) -> None:
    run = make_run(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); say(n=1); time.sleep(60)"
    ).start()
    wait_until(lambda: run.daemon.lines, what="a line")
    asked_at = time.monotonic()
    cancel(run, grace_s=0.5)
    end = run.end()
    assert 0.5 <= time.monotonic() - asked_at < 5
    assert end.signal == signal.SIGKILL


def test_a_second_cancel_can_only_shorten_the_grace(make_run: MakeRun) -> None:
    run = make_run(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); say(n=1); time.sleep(60)"
    ).start()
    wait_until(lambda: run.daemon.lines, what="a line")
    cancel(run, grace_s=60)
    cancel(run, grace_s=0)
    cancel(run, grace_s=60)
    assert run.end(timeout_s=10).signal == signal.SIGKILL


def test_what_outlives_the_worker_is_killed_and_counted(make_run: MakeRun) -> None:
    run = make_run(HIDE + "hide(3); say(n=1)").start()
    end = run.end()
    assert (end.exit_code, end.killed_leftovers) == (0, 3)
    assert hidden(run) == []


def check_stops(make_run: MakeRun, strangers: list[ProcessIdentity], count: int, seed: int) -> None:
    """Cancel runs at random moments while they start processes that hide."""
    moments = random.Random(seed)
    for number in range(count):
        endless = HIDE + "hide(3); say(n=1)\nwhile True: hide(); time.sleep(0.01)"
        run = make_run(endless, run_id=f"stop-{seed}-{os.getpid()}-{number}").start()
        wait_until(lambda run=run: run.daemon.lines, what="a line")
        time.sleep(moments.uniform(0, 0.1))
        cancel(run, grace_s=moments.choice([0.0, 0.05]))
        assert run.end().signal == signal.SIGKILL
        assert hidden(run) == []
        assert run.processes() == []
        run.close()
        assert all(stranger.is_alive() for stranger in strangers)


def test_nothing_is_left_after_30_stops(
    make_run: MakeRun, strangers: list[ProcessIdentity]
) -> None:
    check_stops(make_run, strangers, 30, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_nothing_is_left_after_300_stops(
    make_run: MakeRun, strangers: list[ProcessIdentity]
) -> None:
    check_stops(make_run, strangers, 300, seed=2)


# Pausing

TREE = """
if os.fork() == 0:
    while True: time.sleep(0.01)
n = 0
while True:
    say(n=n); n += 1; time.sleep(0.01)
"""


def pause(run: ProxiedRun) -> None:
    run.daemon.commands.put(pb.Command(pause=pb.Empty()))
    run.daemon.wait_for("paused")


def test_a_paused_run_stands_still_and_goes_on(make_run: MakeRun) -> None:
    run = make_run(TREE).start()
    wait_until(lambda: len(run.daemon.lines) > 5, what="some lines")
    pause(run)
    processes = run.processes()
    assert len(processes) == 2
    assert all(process.is_stopped() for process in processes)
    time.sleep(0.1)
    count = len(run.daemon.lines)
    time.sleep(0.2)
    assert len(run.daemon.lines) == count
    run.daemon.commands.put(pb.Command(unpause=pb.Empty()))
    run.daemon.wait_for("unpaused")
    wait_until(lambda: len(run.daemon.lines) > count + 5, what="more lines")
    cancel(run, grace_s=5)
    assert run.end().signal == signal.SIGTERM


def test_a_paused_run_can_be_cancelled_and_still_ends_in_good_order(make_run: MakeRun) -> None:
    run = make_run("signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n" + TREE).start()
    wait_until(lambda: run.daemon.lines, what="a line")
    pause(run)
    cancel(run, grace_s=10)
    assert run.end().exit_code == 143


def test_a_new_proxy_and_a_new_daemon_learn_that_the_run_is_paused(make_run: MakeRun) -> None:
    run = make_run(TREE).start()
    wait_until(lambda: run.daemon.lines, what="a line")
    assert not run.daemon.said("hello")[-1].is_paused
    pause(run)
    run.proxies[0].kill()
    run.proxies[0].wait()
    run.start_proxy()
    assert run.daemon.wait_for("hello", count=2).is_paused
    run.daemon.commands.put(pb.Command(unpause=pb.Empty()))
    run.daemon.wait_for("unpaused")
    cancel(run, grace_s=0)
    assert not run.end().was_seen
    assert run.processes() == []


def test_a_run_that_is_ending_is_not_paused(make_run: MakeRun) -> None:
    run = make_run(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); say(n=1); time.sleep(60)"
    ).start()
    wait_until(lambda: run.daemon.lines, what="a line")
    cancel(run, grace_s=1)
    run.daemon.commands.put(pb.Command(pause=pb.Empty()))
    assert run.daemon.wait_for("failed") == "The run is ending: it cannot be paused."
    assert run.end().signal == signal.SIGKILL
