"""A proxy beside a toy worker: what it says reaches the daemon, and so does its end."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mosaic.contracts.secrets import REDACTED
from tests.workers.conftest import MakeRun
from tests.workers.fake_daemon import wait_until
from tests.workers.proxied import PROXY

COUNT = "for n in range(200):\n    say(n=n); time.sleep(0.005)\n"


def rss_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


def peak_rss_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmHWM")


def test_a_run_from_start_to_end(make_run: MakeRun) -> None:
    run = make_run("say(n=1); say(n=2); print('a last word', file=sys.stderr)").start()
    end = run.end()
    assert run.events() == [{"n": 1}, {"n": 2}]
    assert (end.exit_code, end.HasField("signal"), end.was_seen) == (0, False, True)
    assert list(end.last_lines) == ["a last word"]
    assert end.killed_leftovers == 0
    (registration,) = run.daemon.registrations
    assert (registration.run_id, registration.worker_id) == (run.run_id, "toy-1")
    assert (registration.proto_version, registration.schema_id) == ("MOSAIC/1.0", "toy.ppo")
    (hello,) = run.daemon.said("hello")
    assert hello.proxy.pid == run.proxies[0].pid
    assert run.daemon.messages[0].WhichOneof("message") == "hello"
    state = run.state()
    assert state is not None
    assert (state.phase, state.worker) == ("ended", (hello.worker.pid, hello.worker.start_ticks))
    assert state.exit is not None
    assert state.exit.exit_code == 0


@pytest.mark.parametrize(
    ("toy", "exit_code", "number"),
    [
        ("sys.exit(3)", 3, 0),
        ("sys.exit(143)", 143, 0),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 0, signal.SIGSEGV),
    ],
)
def test_how_a_worker_ended(make_run: MakeRun, toy: str, exit_code: int, number: int) -> None:
    end = make_run(toy).start().end()
    assert end.was_seen
    assert (end.exit_code, end.signal) == (exit_code, number)
    assert end.HasField("signal") == bool(number)


def test_a_worker_that_was_killed_is_reported_at_once(make_run: MakeRun) -> None:
    run = make_run("say(n=1); print('so far', file=sys.stderr, flush=True); time.sleep(60)").start()
    wait_until(lambda: run.daemon.lines, what="a line")
    killed_at = time.monotonic()
    run.worker().send(signal.SIGKILL)
    end = run.end()
    assert time.monotonic() - killed_at < 5
    assert (end.signal, end.was_seen, list(end.last_lines)) == (9, True, ["so far"])


def test_a_program_that_is_not_there(make_run: MakeRun) -> None:
    run = make_run("")
    run.write_launch(["no-such-program"])
    end = run.start().end()
    assert (end.exit_code, end.was_seen) == (127, True)
    assert "no-such-program: No such file or directory" in end.last_lines[0]
    (hello,) = run.daemon.said("hello")
    assert not hello.HasField("worker")


def test_what_the_worker_is_given(make_run: MakeRun) -> None:
    run = make_run(
        "say(environment=dict(os.environ), session=os.getsid(0), pid=os.getpid(),"
        " fds=sorted(os.listdir('/proc/self/fd'))[:-1], stdin=os.readlink('/proc/self/fd/0'),"
        " pipe=str(signal.getsignal(signal.SIGPIPE)))"
    )
    run.environment = {"WANDB_API_KEY": "canary-0123456789"}
    run.start().end()
    (shown,) = run.events()
    environment = shown["environment"]
    assert environment["MOSAIC_RUN_ID"] == run.run_id
    assert environment["MOSAIC_VAR_DIR"] == str(run.var_dir)
    assert environment["WANDB_API_KEY"] == "canary-0123456789"
    assert environment["TOY"] == "1"
    assert len(environment["MOSAIC_RUN_TOKEN"]) == 64
    port = json.loads(run.daemon.paths.daemon_info.read_text())["port"]
    assert environment["MOSAIC_GRPC_TARGET"] == f"127.0.0.1:{port}"
    assert shown["session"] == shown["pid"]
    assert shown["fds"] == ["0", "1", "2"]
    assert shown["stdin"] == "/dev/null"


def test_a_secret_in_the_last_lines_is_masked(make_run: MakeRun) -> None:
    run = make_run("print('key', os.environ['WANDB_API_KEY'], file=sys.stderr); sys.exit(1)")
    run.environment = {"WANDB_API_KEY": "canary-0123456789"}
    assert list(run.start().end().last_lines) == [f"key {REDACTED}"]
    assert "canary" not in run.paths.state.read_text() + run.paths.log.read_text()


def test_a_proxy_that_takes_over_masks_secrets_that_it_was_never_given(make_run: MakeRun) -> None:
    run = make_run("say(n=1); wait_for('go'); print(os.environ['HF_TOKEN'], file=sys.stderr)")
    run.environment = {"HF_TOKEN": "canary-0123456789"}
    run.start()
    wait_until(lambda: run.daemon.lines, what="a line")
    run.proxies[0].kill()
    run.proxies[0].wait()
    run.environment = {}
    run.start_proxy()
    run.daemon.wait_for("hello", count=2)
    run.release("go")
    assert list(run.end().last_lines) == [REDACTED]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "The launch file 'launch.json' does not exist."),
        ("{", "The launch file 'launch.json' is not JSON"),
        ("{}", "The launch file 'launch.json' is not one: KeyError: 'run_id'."),
        ('{"run_id": "../up"}', "run_id='../up' is not allowed"),
    ],
)
def test_a_launch_file_that_is_none(tmp_path: Path, text: str | None, says: str) -> None:
    if text is not None:
        (tmp_path / "launch.json").write_text(text)
    done = subprocess.run(
        [sys.executable, "-P", *PROXY, "launch.json"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"mosaic-proxy: {says}")


# What workers write


def test_a_line_without_its_end_counts_once_the_worker_is_gone(make_run: MakeRun) -> None:
    run = make_run("say(n=1); os.write(1, b'cut o'); wait_for('go')").start()
    wait_until(lambda: run.daemon.lines == [b'{"n": 1}'], what="the whole line")
    time.sleep(0.1)
    assert run.daemon.lines == [b'{"n": 1}']
    run.release("go")
    run.end()
    assert run.daemon.lines == [b'{"n": 1}', b"cut o"]


def test_garbage_and_two_lines_in_one_write_arrive_as_they_are(make_run: MakeRun) -> None:
    run = make_run(r"""os.write(1, b'{"n": 1}\n{"n": 2}\n\xff\x00 no json\n\n')""").start()
    run.end()
    assert run.daemon.stored == b'{"n": 1}\n{"n": 2}\n\xff\x00 no json\n\n'


def test_ten_megabytes_on_one_line(make_run: MakeRun) -> None:
    run = make_run("say(text='x' * 10_000_000); say(n=2); wait_for('go')").start()
    wait_until(lambda: len(run.daemon.lines) == 2, what="both lines")
    assert rss_mb(run.proxies[0].pid) < 80
    run.release("go")
    run.end()
    assert [len(line) for line in run.daemon.lines] == [10_000_012, 8]


def test_a_line_that_no_message_could_hold_is_left_out_and_said(make_run: MakeRun) -> None:
    run = make_run(
        "say(n=1)\nfor _ in range(40): os.write(1, b'x' * 1_000_000)\nos.write(1, b'\\n'); say(n=2)"
    ).start()
    run.end()
    assert run.daemon.notes == ["a line of 40000001 bytes was left out: at most 33554432 are sent"]
    assert run.daemon.stored.startswith(b'{"n": 1}\n----')
    assert run.daemon.stored.endswith(b'--{"n": 2}\n')
    assert len(run.daemon.stored) == run.run_paths.events.stat().st_size


def test_a_worker_that_says_nothing(make_run: MakeRun) -> None:
    run = make_run("wait_for('go')").start()
    run.daemon.wait_for("hello")
    assert run.proxies[0].poll() is None
    run.release("go")
    assert run.end().exit_code == 0
    assert run.daemon.lines == []


def test_memory_stays_small_however_far_behind_the_daemon_is(make_run: MakeRun) -> None:
    line = '{"event": "metric", "text": "' + "x" * 200 + '"}\n'
    run = make_run(
        f"block = {line!r}.encode() * 4_000\nfor _ in range(220): os.write(1, block)\n"
        "wait_for('go')"
    )
    run.start_proxy()
    wait_until(
        lambda: run.run_paths.events.exists() and run.run_paths.events.stat().st_size > 200e6,
        what="200 MB",
    )
    run.daemon.delay_s = 0.005
    run.daemon.start()
    size = 880_000 * len(line)
    wait_until(lambda: len(run.daemon.stored) == size, 60, what="all of it")
    assert peak_rss_mb(run.proxies[0].pid) < 80
    assert max(run.daemon.batches) <= 1 << 20
    run.release("go")
    run.end()


# Daemons and proxies that die


def test_training_and_events_go_on_while_the_daemon_is_away(make_run: MakeRun) -> None:
    run = make_run(COUNT).start()
    wait_until(lambda: len(run.daemon.lines) > 20, what="some lines")
    run.daemon.stop()
    time.sleep(0.3)
    run.daemon.start()
    end = run.end()
    assert [event["n"] for event in run.events()] == list(range(200))
    assert len(run.daemon.registrations) == 2
    assert (end.exit_code, end.was_seen) == (0, True)


@pytest.mark.parametrize("after", [1, 60, 150])
def test_a_second_proxy_takes_over_from_one_that_was_killed(make_run: MakeRun, after: int) -> None:
    run = make_run(COUNT + "wait_for('go')").start()
    wait_until(lambda: len(run.daemon.lines) >= after, what="some lines")
    worker = run.worker()
    run.proxies[0].kill()
    run.proxies[0].wait()
    assert worker.is_alive()
    run.start_proxy()
    hello = run.daemon.wait_for("hello", count=2)
    assert (hello.worker.pid, hello.worker.start_ticks) == worker
    wait_until(lambda: len(run.daemon.lines) == 200, what="every line")
    run.release("go")
    end = run.end()
    assert not end.was_seen
    assert not end.HasField("exit_code")
    assert [event["n"] for event in run.events()] == list(range(200))


def test_a_worker_that_ended_while_it_had_no_proxy(make_run: MakeRun) -> None:
    run = make_run("say(n=1); wait_for('go'); say(n=2)").start()
    wait_until(lambda: run.daemon.lines, what="a line")
    worker = run.worker()
    run.proxies[0].kill()
    run.proxies[0].wait()
    run.release("go")
    wait_until(lambda: not worker.is_alive(), what="the end")
    run.start_proxy()
    assert not run.end().was_seen
    assert run.events() == [{"n": 1}, {"n": 2}]


def test_the_exit_code_outlives_the_proxy_that_saw_it(make_run: MakeRun) -> None:
    run = make_run("say(n=1); sys.exit(7)")
    run.start_proxy()  # no daemon: it cannot tell anybody
    wait_until(lambda: (state := run.state()) is not None and state.phase == "ended", what="an end")
    run.proxies[0].kill()
    run.proxies[0].wait()
    run.start()
    end = run.end()
    assert (end.exit_code, end.was_seen) == (7, True)
    assert run.events() == [{"n": 1}]


def test_a_run_has_one_proxy_at_a_time(make_run: MakeRun) -> None:
    run = make_run("say(pid=os.getpid()); wait_for('go')").start()
    wait_until(lambda: run.daemon.lines, what="a line")
    assert run.start_proxy().wait(10) == 0
    assert run.proxies[0].poll() is None
    run.release("go")
    assert run.proxies[0].wait(10) == 0
    assert len(run.events()) == 1


IMPATIENT = """
import sys
from pathlib import Path
from mosaic.workers.proxy.following import follow
from mosaic.workers.proxy.launch import read_launch
from mosaic.workers.proxy.starting import begin
launch = read_launch(Path(sys.argv[1]))
sys.exit(follow(launch, begin(launch), patience_s=0.5))
"""


def test_a_proxy_without_a_daemon_does_not_wait_for_ever(make_run: MakeRun) -> None:
    run = make_run("say(n=1); sys.exit(7)")
    assert run.start_proxy("-c", IMPATIENT).wait(20) == 0
    state = run.state()
    assert state is not None
    assert state.exit is not None
    assert state.exit.exit_code == 7, "the daemon finds it here"
    assert run.run_paths.events.read_bytes() == b'{"n": 1}\n'


def test_a_daemon_that_does_not_know_the_token_does_not_end_the_run(make_run: MakeRun) -> None:
    run = make_run("wait_for('go')")
    run.environment = {"MOSAIC_RUN_TOKEN": "wrong"}
    run.start()
    wait_until(lambda: "UNAUTHENTICATED" in run.paths.log.read_text(), what="the refusal")
    assert run.worker().is_alive()
    assert run.paths.log.read_text().count("UNAUTHENTICATED") == 1


UNTIL_GO = """
n = 0
while not os.path.exists(os.path.join(os.environ["MOSAIC_VAR_DIR"], "go")):
    say(n=n); n += 1; time.sleep(0.001)
"""


@pytest.mark.parametrize("victim", ["proxy", "daemon"])
def test_twenty_kills_at_random_moments_lose_and_double_nothing(
    make_run: MakeRun, victim: str
) -> None:
    moments = random.Random(7)
    run = make_run(UNTIL_GO).start()
    for _ in range(20):
        time.sleep(moments.choice([0.0, 0.05, 0.3]) + moments.uniform(0, 0.1))
        if victim == "proxy":
            run.proxies[-1].kill()
            run.proxies[-1].wait()
            run.start_proxy()
        else:
            run.daemon.stop()
            run.daemon.start()
    run.release("go")
    run.end()
    written = run.run_paths.events.read_bytes()
    assert bytes(run.daemon.stored) == written
    assert [event["n"] for event in run.events()] == list(range(len(run.daemon.lines)))
    assert run.processes() == []
