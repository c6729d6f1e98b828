"""The commands that look at runs and act on them, with a toy daemon behind the real protocol."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

import pytest

from mosaic.cli.main import main
from tests.client.toy_daemon import ToyDaemon

Call = Callable[..., tuple[int, str, str]]

KEYS = "run_id name state outcome reason algo env_id seed worker_id step total_timesteps created_at"


@pytest.fixture
def call(daemon: ToyDaemon, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command in this process; return its exit code and what it printed."""

    def run(*words: str) -> tuple[int, str, str]:
        code = main(words)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_ps_lists_what_has_not_ended(call: Call, daemon: ToyDaemon) -> None:
    trained = daemon.add(step=39_900, total_timesteps=100_000, seed=3, last_return=436.21)
    waiting = daemon.add(state="INIT", queue_position=1, reason="waiting for 2 CPUs: 1 of 2 free")
    ended = daemon.add(state="TERMINATED", outcome="failed")
    code, out, _ = call("ps")
    assert code == 0
    heading, first, second = out.splitlines()
    assert heading.split()[:4] == ["run", "state", "algo", "env"]
    assert heading.split()[4:] == ["seed", "steps", "return", "age", "reason"]
    assert first.split()[1:3] == ["queued", "toy"]
    assert first.endswith("waiting for 2 CPUs: 1 of 2 free")
    assert second.split()[1:7] == ["executing", "toy", "Toy-v0", "3", "39.9k/100k", "436.2"]
    assert waiting.run_id.startswith(first.split()[0])
    assert trained.run_id.startswith(second.split()[0])
    assert ended.run_id[:20] in json.dumps(json.loads(call("ps", "--all", "--json")[1]))
    assert call("ps", "--state", "failed")[1].count("\n") == 2


def test_ps_json_has_the_keys_of_the_contract(call: Call, daemon: ToyDaemon) -> None:
    run = daemon.add(seed=0, total_timesteps=10)
    [found] = json.loads(call("ps", "--json")[1])
    assert list(found)[:12] == KEYS.split()
    assert (found["run_id"], found["state"], found["outcome"]) == (run.run_id, "EXECUTING", None)
    assert (found["seed"], found["last_return"], found["parent_run_id"]) == (0, None, None)


def test_ps_of_nothing_says_so(call: Call) -> None:
    assert call("ps")[1] == "No run is unfinished. 'mosaic ps --all' lists every run.\n"
    assert call("ps", "--json")[1] == "[]\n"


def test_ps_reads_every_page_and_stops_at_a_limit(call: Call, daemon: ToyDaemon) -> None:
    for _ in range(1_050):
        daemon.add()
    assert len(json.loads(call("ps", "--json")[1])) == 1_050
    assert len(json.loads(call("ps", "--json", "--limit", "7")[1])) == 7


def test_a_state_of_a_newer_version_is_shown_as_unknown(call: Call, daemon: ToyDaemon) -> None:
    daemon.add(state="TELEPORTING")
    assert json.loads(call("ps", "--json")[1])[0]["state"] == "UNKNOWN"
    assert " unknown " in call("ps")[1]


def test_any_unambiguous_prefix_names_a_run(call: Call, daemon: ToyDaemon) -> None:
    first, second = daemon.add(run_id="AB1"), daemon.add(run_id="AB2")
    assert json.loads(call("show", "AB1", "--json")[1])["run_id"] == first.run_id
    code, _, err = call("show", "AB")
    assert (code, err) == (2, "mosaic: 'AB' is ambiguous: 2 runs.\n")
    code, _, err = call("show", "C")
    assert (code, err) == (2, "mosaic: There is no run 'C'.\n")
    assert second.run_id == "AB2"


def test_show_tells_everything_about_a_run(call: Call, daemon: ToyDaemon) -> None:
    daemon.add(run_id="R1", name="mine", step=5, total_timesteps=10, seed=7, parent_run_id="R0")
    lines = call("show", "R1")[1].splitlines()
    assert lines[0] == "toy on Toy-v0"
    facts = dict(line.strip().split(maxsplit=1) for line in lines[2:])
    assert facts["name"] == "mine"
    assert facts["state"] == "executing"
    assert facts["steps"] == "5/10"
    assert facts["continues"] == "R0"
    assert facts["files"] == "var/trainer/runs/R1"


def test_cancel_returns_when_the_run_has_ended(call: Call, daemon: ToyDaemon) -> None:
    run = daemon.add()
    code, out, _ = call("cancel", run.run_id)
    assert (code, out) == (0, f"{run.run_id}  cancelled  toy on Toy-v0\n")
    code, _, err = call("cancel", run.run_id)
    assert (code, err) == (2, f"mosaic: The run {run.run_id} has ended already.\n")


def test_cancel_without_waiting_returns_at_once(call: Call, daemon: ToyDaemon) -> None:
    run = daemon.add()
    assert json.loads(call("cancel", run.run_id, "--no-wait", "--json")[1])["is_cancelling"]


def test_one_run_that_refuses_does_not_save_the_others(call: Call, daemon: ToyDaemon) -> None:
    first, second = daemon.add(), daemon.add()
    code, out, err = call("cancel", first.run_id, "nothing", second.run_id, "--json")
    assert code == 2
    assert err == "mosaic: There is no run 'nothing'.\n"
    assert [run["outcome"] for run in json.loads(out)["runs"]] == ["cancelled", "cancelled"]


def test_pause_and_unpause_return_when_it_is_so(call: Call, daemon: ToyDaemon) -> None:
    run = daemon.add()
    assert call("pause", run.run_id)[1] == f"{run.run_id}  paused  toy on Toy-v0\n"
    assert json.loads(call("unpause", run.run_id, "--json")[1])["state"] == "EXECUTING"


def test_a_run_that_goes_on_is_not_resumed(call: Call, daemon: ToyDaemon) -> None:
    run = daemon.add()
    code, _, err = call("resume", run.run_id)
    assert code == 2
    assert err.startswith(f"mosaic: The run {run.run_id} has not ended: it is executing.")


def test_rm_and_restore(call: Call, daemon: ToyDaemon) -> None:
    run = daemon.add(state="TERMINATED", outcome="succeeded")
    assert call("rm", run.run_id)[1] == f"{run.run_id}  deleted  toy on Toy-v0\n"
    assert call("restore", run.run_id)[1] == f"{run.run_id}  restored  toy on Toy-v0\n"
    assert call("rm", "--purge", run.run_id)[1] == f"{run.run_id}  purged  toy on Toy-v0\n"
    assert call("show", run.run_id)[0] == 2


def test_logs_are_copied_as_they_are(
    daemon: ToyDaemon, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    run = daemon.add()
    assert main(["logs", run.run_id, "-n", "2", "-f"]) == 0
    assert capfdbinary.readouterr().out == b"second\nthird\nadded \xff later\n"
    assert main(["logs", run.run_id, "-n", "1", "--json"]) == 0
    assert json.loads(capfdbinary.readouterr().out) == {"lines": ["third"]}
    assert main(["logs", "--daemon", "-n", "1"]) == 0
    assert capfdbinary.readouterr().out == b"third\n"


def test_watch_shows_named_runs_to_their_end(call: Call, daemon: ToyDaemon) -> None:
    run = daemon.add(total_timesteps=100)

    def go_on() -> None:
        daemon.change(run.run_id, step=50, last_return=12.0)
        time.sleep(0.05)
        daemon.end(run.run_id, reason="")

    threading.Timer(0.3, go_on).start()
    code, out, _ = call("watch", run.run_id)
    assert code == 0
    first, last = out.splitlines()
    assert first == f"{run.run_id[:10]}  executing   toy on Toy-v0  0/100"
    assert last == f"{run.run_id[:10]}  succeeded   toy on Toy-v0  50/100  return 12.0"


def test_watch_json_is_an_object_a_line(call: Call, daemon: ToyDaemon) -> None:
    run = daemon.add()
    threading.Timer(0.2, daemon.end, (run.run_id,)).start()
    told = [json.loads(line) for line in call("watch", run.run_id, "--json")[1].splitlines()]
    assert [each["outcome"] for each in told] == [None, "succeeded"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("ps", "--state", "runing"), "state='runing' is not allowed."),
        (("ps", "--limit", "0"), "limit=0 is not allowed"),
        (("ps", "--al"), "ps has no flag --al. Did you mean '--all'?"),
        (("show",), "the following arguments are required: RUN"),
        (("cancel",), "the following arguments are required: RUN"),
        (("logs",), "name one run, or give --daemon"),
        (("logs", "R", "--daemon"), "name one run, or give --daemon"),
        (("logs", "R", "--stream", "stdin"), "invalid choice: 'stdin'"),
        (("logs", "R", "-n", "0"), "lines=0 is not allowed"),
        (("eval",), "name one run, or one policy"),
        (("eval", "R", "S"), "name one run, or one policy"),
        (("eval", "R", "--eval-bach-size", "3"), "Did you mean '--eval-batch-size'?"),
        (("eval", "R", "--eval-batch-size", "0"), "eval_batch_size=0 is not allowed"),
        (("eval", "no/such.cleanrl_model"), "'no/such.cleanrl_model' does not exist"),
        (("eval", "no/such.cleanrl_model", "--from", "3"), "--from names a checkpoint of a run"),
        (("eval", "R"), "There is no run 'R'."),
        (("resume", "R"), "There is no run 'R'."),
        (("resume", "R", "--from", "x"), "invalid int value: 'x'"),
        (("daemon",), "the following arguments are required: action"),
        (("daemon", "restart"), "invalid choice: 'restart'"),
        (("daemon", "stop", "--foreground"), "--foreground belongs to 'start'"),
    ],
)
def test_bad_input_is_one_line(call: Call, words: tuple[str, ...], line: str) -> None:
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert line in err
    assert err.count("\n") == 1


def test_the_daemon_tells_of_itself(call: Call, daemon: ToyDaemon) -> None:
    status = json.loads(call("daemon", "status", "--json")[1])
    assert status["running"] is True
    assert status["target"] == daemon.target
    assert "CPUs         1 of 2 free" in call("daemon", "status")[1].splitlines()
