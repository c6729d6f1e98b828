"""Runs through a real daemon, its proxies and a worker that counts."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import grpc
import psutil
import pytest

from mosaic.proto import trainer_pb2 as pb
from mosaic.proto.trainer_pb2_grpc import TrainerStub
from tests.trainer.daemons import Daemon, config, processes_of, running

RETURN = "charts/episodic_return"


def test_a_run_from_submission_to_its_end(daemon: Daemon) -> None:
    run_id = daemon.submit(steps=50)
    assert daemon.run(run_id).state in ("INIT", "HANDSHAKE", "READY", "EXECUTING")
    run = daemon.wait_for(run_id, "TERMINATED")
    assert (run.outcome, run.exit_code, run.step, run.last_return) == ("succeeded", 0, 50, 50.0)
    assert run.seed == 1
    assert run.started_at < run.ended_at
    assert daemon.steps(run_id, RETURN) == list(range(1, 51))
    events = [json.loads(line)["event"] for line in daemon.details(run_id).event_lines]
    assert events == ["run_started", *["checkpoint_saved"] * 5, "run_completed"]
    assert processes_of(run_id) == []


def test_the_same_config_twice_is_two_runs_and_a_key_makes_them_one(daemon: Daemon) -> None:
    assert daemon.submit() != daemon.submit()
    request = pb.SubmitRunRequest(config_json=config("Tick-v0", 10, idempotency_key="once"))
    first, second = daemon.call("SubmitRun", request), daemon.call("SubmitRun", request)
    assert first.run.run_id == second.run.run_id
    assert first.is_new
    assert not second.is_new


def test_cancel_stops_politely_and_says_so(daemon: Daemon) -> None:
    run_id = daemon.submit(steps=100_000)
    daemon.wait_for(run_id, "EXECUTING")
    assert daemon.call("CancelRun", pb.RunRequest(run_id=run_id)).is_cancelling
    run = daemon.wait_for(run_id, "TERMINATED")
    assert (run.outcome, run.exit_code, run.reason) == ("cancelled", 143, "Cancelled.")
    assert processes_of(run_id) == []
    with pytest.raises(grpc.RpcError) as refused:
        daemon.call("CancelRun", pb.RunRequest(run_id=run_id))
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "has ended already (TERMINATED, cancelled)" in refused.value.details()


def test_pause_stands_still_and_unpause_goes_on(daemon: Daemon) -> None:
    run_id = daemon.submit(steps=300)
    daemon.wait_for(run_id, "EXECUTING")
    assert daemon.call("PauseRun", pb.RunRequest(run_id=run_id)).state == "PAUSED"
    time.sleep(0.3)
    before = daemon.run(run_id).step
    time.sleep(0.5)
    assert daemon.run(run_id).step == before
    assert daemon.call("UnpauseRun", pb.RunRequest(run_id=run_id)).state == "EXECUTING"
    run = daemon.wait_for(run_id, "TERMINATED")
    assert run.outcome == "succeeded"
    assert len(daemon.steps(run_id, RETURN)) == 300


def test_a_paused_run_can_be_cancelled(daemon: Daemon) -> None:
    run_id = daemon.submit(steps=100_000)
    daemon.wait_for(run_id, "EXECUTING")
    daemon.call("PauseRun", pb.RunRequest(run_id=run_id))
    daemon.call("CancelRun", pb.RunRequest(run_id=run_id))
    assert daemon.wait_for(run_id, "TERMINATED").outcome == "cancelled"
    assert processes_of(run_id) == []


def test_a_worker_that_fails_tells_why(daemon: Daemon) -> None:
    run_id = daemon.submit("Fail-v0")
    run = daemon.wait_for(run_id, "TERMINATED")
    assert (run.outcome, run.reason, run.exit_code) == ("failed", "boom", 1)
    assert list(daemon.details(run_id).last_lines) == ["the last line"]


def test_kill_9_of_a_worker_is_seen_within_five_seconds(daemon: Daemon) -> None:
    run_id = daemon.submit(steps=100_000)
    daemon.wait_for(run_id, "EXECUTING")
    [worker] = [pid for pid in processes_of(run_id) if b"ticker_worker" in _command(pid)]
    os.kill(worker, signal.SIGKILL)
    run = daemon.wait_for(run_id, "TERMINATED", timeout_s=5)
    assert (run.outcome, run.signal) == ("failed", 9)
    assert "killed by signal 9 (SIGKILL)" in run.reason


def _command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_worker_that_says_nothing_is_faulted(ticker: None, tmp_path: Path) -> None:
    settings = "cpus = 4\nmemory_mb = 4096\ncontact_timeout_s = 3"
    with running(tmp_path / "var", settings) as daemon:
        run_id = daemon.submit("Hang-v0")
        run = daemon.wait_for(run_id, "FAULTED", timeout_s=15)
        assert run.outcome == "failed"
        assert run.reason.startswith("No sign of the worker for")
        assert processes_of(run_id) == []


def test_garbage_long_lines_and_a_missing_newline_lose_nothing(daemon: Daemon) -> None:
    run_id = daemon.submit("Babble-v0")
    run = daemon.wait_for(run_id, "TERMINATED")
    assert run.outcome == "succeeded"
    assert run.step == 3
    assert daemon.details(run_id).garbage_lines == 5
    assert daemon.series(run_id, "big").total_points == 400_000


def test_stubborn_processes_are_gone_after_a_cancel(ticker: None, tmp_path: Path) -> None:
    settings = "cpus = 4\nmemory_mb = 4096\nstop_grace_s = 1"
    with running(tmp_path / "var", settings) as daemon:
        stranger = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
        before = _sleepers()
        run_id = daemon.submit("Stubborn-v0")
        daemon.wait_for(run_id, "EXECUTING")
        assert len(_sleepers() - before) == 3
        daemon.call("CancelRun", pb.RunRequest(run_id=run_id))
        assert daemon.wait_for(run_id, "TERMINATED").outcome == "cancelled"
        assert _sleepers() == before
        assert processes_of(run_id) == []
        assert stranger.poll() is None
        stranger.kill()
        stranger.wait()


def _sleepers() -> set[int]:
    """Return the processes that the stubborn worker's grandchildren look like."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if b"signal.signal(15" in words:
                found.add(int(entry.name))
    return found


def test_runs_wait_for_resources_and_say_why(ticker: None, tmp_path: Path) -> None:
    with running(tmp_path / "var", "cpus = 1\nmemory_mb = 4096") as daemon:
        first, second = daemon.submit(steps=100_000), daemon.submit(steps=10)
        waiting = daemon.run(second)
        assert (waiting.state, waiting.queue_position) == ("INIT", 1)
        assert waiting.reason == "waiting for 1 CPU: 0 of 1 free"
        third = daemon.submit(steps=10)
        daemon.call("CancelRun", pb.RunRequest(run_id=third))
        assert daemon.run(third).outcome == "cancelled"
        daemon.call("CancelRun", pb.RunRequest(run_id=first))
        assert daemon.wait_for(second, "TERMINATED").outcome == "succeeded"


@pytest.mark.parametrize(
    ("resources", "what"),
    [
        ({"cpus": 64}, "needs 64 CPUs, and this machine has 8"),
        ({"gpus": {"requested": 9, "mandatory": True}}, "needs 9 GPUs, and this machine has"),
    ],
)
def test_what_the_machine_lacks_is_refused_at_once(
    daemon: Daemon, resources: dict[str, object], what: str
) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        daemon.submit(resources=resources)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert what in refused.value.details()


def test_limits_of_steps_and_time_end_a_run(daemon: Daemon) -> None:
    by_steps = daemon.submit(steps=100_000, schedule={"max_steps": 30})
    by_time = daemon.submit(steps=100_000, schedule={"max_duration_seconds": 1.0})
    run = daemon.wait_for(by_steps, "TERMINATED")
    assert (run.outcome, run.reason) == ("cancelled", "schedule.max_steps=30 was reached.")
    assert 30 <= run.step < 1000
    run = daemon.wait_for(by_time, "TERMINATED")
    assert run.reason == "schedule.max_duration_seconds=1 was reached."


def test_delete_restore_and_purge(daemon: Daemon) -> None:
    run_id = daemon.submit(steps=5)
    with pytest.raises(grpc.RpcError, match="has not ended"):
        daemon.call("DeleteRun", pb.DeleteRunRequest(run_id=run_id))
    daemon.wait_for(run_id, "TERMINATED")
    directory = Path(daemon.details(run_id).run_dir)
    daemon.call("DeleteRun", pb.DeleteRunRequest(run_id=run_id))
    assert not directory.exists()
    assert (daemon.paths.bin / run_id).is_dir()
    assert not daemon.call("ListRuns", pb.ListRunsRequest()).runs
    daemon.call("RestoreRun", pb.RunRequest(run_id=run_id))
    assert (directory / "events.jsonl").is_file()
    assert len(daemon.steps(run_id, RETURN)) == 5
    daemon.call("DeleteRun", pb.DeleteRunRequest(run_id=run_id, purge=True))
    assert not directory.exists()
    with pytest.raises(grpc.RpcError) as gone:
        daemon.run(run_id)
    assert gone.value.code() is grpc.StatusCode.NOT_FOUND
    assert not [path for path in daemon.paths.root.rglob("*") if run_id in path.name]


def test_a_token_is_needed_and_a_run_s_own_opens_that_run_alone(daemon: Daemon) -> None:
    run_id, other = daemon.submit(steps=5), daemon.submit(steps=5)
    stub = TrainerStub(daemon.channel)
    with pytest.raises(grpc.RpcError) as missing:
        stub.ListRuns(pb.ListRunsRequest())
    assert missing.value.code() is grpc.StatusCode.UNAUTHENTICATED
    with pytest.raises(grpc.RpcError) as wrong:
        next(iter(stub.WatchRuns(pb.WatchRunsRequest(), metadata=_bearer("nonsense"))))
    assert wrong.value.code() is grpc.StatusCode.UNAUTHENTICATED
    request = pb.RegisterWorkerRequest(run_id=run_id, proto_version="MOSAIC/1.0")
    mine = daemon.call("RegisterWorker", request).session_token
    assert stub.Heartbeat(pb.HeartbeatRequest(run_id=run_id), metadata=_bearer(mine)).state
    for call, foreign in (
        (stub.Heartbeat, pb.HeartbeatRequest(run_id=other)),
        (stub.CancelRun, pb.RunRequest(run_id=run_id)),
    ):
        with pytest.raises(grpc.RpcError) as refused:
            call(foreign, metadata=_bearer(mine))
        assert refused.value.code() in (
            grpc.StatusCode.PERMISSION_DENIED,
            grpc.StatusCode.UNAUTHENTICATED,
        )
    assert stat.S_IMODE(daemon.paths.daemon_token.stat().st_mode) == 0o600


def _bearer(token: str) -> list[tuple[str, str]]:
    return [("authorization", f"Bearer {token}")]


def test_a_second_daemon_is_refused_with_one_line(daemon: Daemon) -> None:
    again = subprocess.run(
        [sys.executable, "-m", "mosaic.trainer"],
        env={**os.environ, "MOSAIC_VAR_DIR": str(daemon.paths.root)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert again.returncode == 2
    [line] = again.stderr.splitlines()
    assert f"already: pid {daemon.process.pid}, port " in line


def test_a_taken_port_is_replaced_and_only_loopback_listens(daemon: Daemon, tmp_path: Path) -> None:
    port = json.loads(daemon.paths.daemon_info.read_text())["port"]
    other = Daemon(tmp_path / "other")
    other.paths.settings.write_text(f"[trainer]\nport = {port}\n")
    other.start()
    assert json.loads(other.paths.daemon_info.read_text())["port"] != port
    assert other.stop() == 0
    addresses = {
        each.laddr.ip.removeprefix("::ffff:")
        for each in psutil.Process(daemon.process.pid).net_connections(kind="inet")
        if each.status == psutil.CONN_LISTEN
    }
    assert addresses == {"127.0.0.1"}


def test_validate_is_the_worker_s_dry_run(daemon: Daemon) -> None:
    valid = daemon.call(
        "ValidateConfig", pb.ValidateConfigRequest(config_json=config("Tick-v0", 5))
    )
    assert valid.is_valid
    assert json.loads(valid.summary_json)["config"]["env_id"] == "Tick-v0"
    refused = daemon.call(
        "ValidateConfig", pb.ValidateConfigRequest(config_json=config("Refuse-v0", 5))
    )
    assert (refused.is_valid, refused.exit_code) == (False, 2)
    assert "'Refuse-v0' is refused" in refused.error
    assert not list(daemon.paths.trainer.glob("runs/*"))


def test_watching_sees_every_state_and_the_curve_while_it_grows(daemon: Daemon) -> None:
    run_id = daemon.submit(steps=100)
    stub = TrainerStub(daemon.channel)
    states: list[str] = []
    for update in stub.WatchRuns(
        pb.WatchRunsRequest(run_ids=[run_id[:12]]), metadata=daemon.metadata
    ):
        if update.HasField("run") and update.run.state not in states[-1:]:
            states.append(update.run.state)
        if states[-1:] == ["TERMINATED"]:
            break
    order = ["INIT", "HANDSHAKE", "READY", "EXECUTING", "TERMINATED"]
    assert states == order[order.index(states[0]) :]
    second = daemon.submit(steps=100)
    steps: list[int] = []
    request = pb.StreamMetricsRequest(run_id=second, tags=[RETURN], follow=True)
    for update in stub.StreamMetrics(request, metadata=daemon.metadata):
        for series in update.series:
            steps += series.first_step
        if update.is_end:
            break
    assert steps == list(range(1, 101))


def test_logs_are_tailed_and_followed_to_the_end(daemon: Daemon) -> None:
    run_id = daemon.submit(steps=100)
    stub = TrainerStub(daemon.channel)
    request = pb.TailLogsRequest(run_id=run_id, stream="events", follow=True)
    text = b"".join(chunk.data for chunk in stub.TailLogs(request, metadata=daemon.metadata))
    assert text.count(b"\n") == 100 + 10 + 2
    with pytest.raises(grpc.RpcError, match="stream='nonsense' is not allowed"):
        next(
            iter(
                stub.TailLogs(
                    pb.TailLogsRequest(run_id=run_id, stream="nonsense"), metadata=daemon.metadata
                )
            )
        )


def test_health_tells_what_is_there(daemon: Daemon) -> None:
    daemon.wait_for(daemon.submit(steps=5), "TERMINATED")
    health = daemon.call("GetHealth", pb.GetHealthRequest())
    assert (health.total_cpus, health.free_cpus) == (8, 8)
    assert dict(health.runs_by_state) == {"TERMINATED": 1}
    assert health.rss_mb < 80


def test_a_secret_reaches_the_worker_and_no_file(daemon: Daemon) -> None:
    canary = "canary-0123456789abcdef"
    document = json.loads(config("Tick-v0", 5))
    document["metadata"]["worker"]["config"]["extras"]["wandb_api_key"] = canary
    run_id = daemon.call(
        "SubmitRun",
        pb.SubmitRunRequest(config_json=json.dumps(document), secrets={"HF_TOKEN": canary}),
    ).run.run_id
    daemon.wait_for(run_id, "TERMINATED")
    daemon.stop()
    for path in daemon.paths.root.rglob("*"):
        if path.is_file():
            assert canary.encode() not in path.read_bytes(), path
    daemon.start()
