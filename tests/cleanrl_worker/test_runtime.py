"""The life of a run, with real processes: a worker, and a fake algorithm that does as told."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cleanrl_worker.fake_algorithm import RETURN
from tests.workers.test_processes import wait_until_gone

SOURCE = str(Path(__file__).parents[2] / "src")
FAKE_WORKER = Path(__file__).with_name("fake_worker.py")
CANARY = "canary-0123456789"

CONFIG: dict[str, Any] = {
    "run_id": "run-1",
    "algo": "ppo",
    "env_id": "CartPole-v1",
    "total_timesteps": 1000,
    "seed": 5,
}


class Worker:
    """A started worker and what it says."""

    def __init__(
        self,
        scenario: str,
        tmp_path: Path,
        config: dict[str, Any],
        timing: Any,
        prefix: tuple[str, ...],
    ) -> None:
        self.run_dir = tmp_path / "var" / "trainer" / "runs" / str(config["run_id"])
        path = tmp_path / "cfg.json"
        path.write_text(json.dumps(config))
        environment = {**os.environ, "PYTHONPATH": SOURCE, "MOSAIC_VAR_DIR": str(tmp_path / "var")}
        environment.pop("DISPLAY", None)
        command = [sys.executable, str(FAKE_WORKER), scenario, str(path), json.dumps(timing)]
        command = [*prefix, *command]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )
        self._stdout: list[str] = []

    def wait_for(self, event: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._stdout.append(line)
            found: dict[str, Any] = json.loads(line)
            if found["event"] == event:
                return found
        raise AssertionError(f"no {event}: {self._stdout}")

    def end(self) -> tuple[int, list[dict[str, Any]], str]:
        """Return exit code, events and stderr."""
        stdout, stderr = self.process.communicate(timeout=30)
        lines = [*self._stdout, *stdout.splitlines()]
        return self.process.returncode, [json.loads(line) for line in lines], stderr

    def child(self) -> psutil.Process:
        (child,) = psutil.Process(self.process.pid).children()
        return child

    def manifest(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.run_dir / "analytics.json").read_text())
        return document


class Start:
    """Start workers of one test, and end those that it leaves behind."""

    def __init__(self, tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        self.workers: list[Worker] = []

    def __call__(
        self,
        scenario: str,
        config: Any = CONFIG,
        prefix: tuple[str, ...] = (),
        **timing: float,
    ) -> Worker:
        timing = {"metric_s": 0.05, **timing}
        worker = Worker(scenario, self.tmp_path, config, timing, prefix)
        self.workers.append(worker)
        return worker


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    starter = Start(tmp_path)
    yield starter
    for worker in starter.workers:
        if worker.process.poll() is None:
            os.killpg(worker.process.pid, signal.SIGKILL)
            worker.process.communicate()
        for stream in (worker.process.stdout, worker.process.stderr):
            assert stream is not None
            stream.close()


def names(events: list[dict[str, Any]]) -> list[str]:
    return [event["event"] for event in events]


def test_a_run_that_completes(start: Start) -> None:
    worker = start("complete")
    code, events, stderr = worker.end()
    assert (code, stderr) == (0, "")
    assert names(events)[0] == "run_started"
    assert names(events)[-2:] == ["metric", "run_completed"]
    assert events[0]["payload"] == {
        "worker_type": "cleanrl",
        "algo": "ppo",
        "env_id": "CartPole-v1",
        "seed": 5,
        "total_timesteps": 1000,
        "module": "cleanrl_worker.algorithms.ppo",
        "mode": "train",
    }
    assert {event["run_id"] for event in events} == {"run-1"}
    points = [
        point
        for event in events
        if event["event"] == "metric"
        for point in event["payload"]["points"].get(RETURN, [])
    ]
    assert points == [[step * 100, float(step)] for step in range(1, 6)]
    assert events[-2]["payload"]["step"] == 500
    assert events[-2]["payload"]["values"][RETURN] == 5.0
    completed = events[-1]["payload"]
    assert completed["status"] == "completed"
    assert completed["manifest"] == worker.manifest()


def test_what_a_completed_run_leaves(start: Start) -> None:
    worker = start("complete")
    worker.end()
    manifest = worker.manifest()
    assert manifest["status"] == "completed"
    assert manifest["artifacts"]["policy"] == {"path": "runs/fake/ppo.cleanrl_model"}
    assert manifest["metrics"]["final"]["eval/episodic_return"] == 200.0
    assert manifest["resources"]["steps_per_second"] == 123.4
    assert manifest["resources"]["peak_rss_mb"] > 1
    files = {path.name for path in worker.run_dir.iterdir()}
    assert files == {"analytics.json", "events.jsonl", "logs", "runs"}


def test_the_events_are_on_disk_as_well(start: Start) -> None:
    worker = start("complete")
    _, events, _ = worker.end()
    record = (worker.run_dir / "events.jsonl").read_text()
    assert [json.loads(line) for line in record.splitlines()] == events


def test_the_algorithms_process_is_set_up_as_the_contract_says(start: Start) -> None:
    config = {**CONFIG, "extras": {"wandb_api_key": CANARY, "algo_params": {"gamma": 0.5}}}
    worker = start("show_environment", config)
    worker.end()
    shown = json.loads((worker.run_dir / "shown.json").read_text())
    environment = shown["environment"]
    assert environment["MOSAIC_RUN_ID"] == "run-1"
    assert environment["PYTHONUNBUFFERED"] == "1"
    assert environment["WANDB_API_KEY"] == CANARY
    assert environment["SDL_VIDEODRIVER"] == "dummy"
    assert shown["cwd"] == str(worker.run_dir)
    assert shown["cwd"] not in shown["path"]
    assert shown["group"] == worker.process.pid, "what signals the worker's group reaches it"
    assert len(shown["descriptors"]) == 5, "the standard three, the channel, and the listing's own"
    assert shown["argv"] == [
        "ppo",
        "--env-id=CartPole-v1",
        "--total-timesteps=1000",
        "--seed=5",
        "--tensorboard-dir=tensorboard",
        "--gamma=0.5",
    ]
    assert (worker.run_dir / "logs/cleanrl.stdout.log").read_text() == "printed on stdout\n"
    assert (worker.run_dir / "logs/cleanrl.stderr.log").read_text() == "printed on stderr\n"


def test_a_checkpoint_is_an_event_and_in_the_manifest(start: Start) -> None:
    worker = start("checkpoints")
    _, events, _ = worker.end()
    saved = [event["payload"] for event in events if event["event"] == "checkpoint_saved"]
    assert [payload["step"] for payload in saved] == [900, 1000]
    assert worker.manifest()["artifacts"]["checkpoints"] == {
        "directory": "checkpoints",
        "latest": "checkpoints/step-1000.ckpt",
        "best": "checkpoints/step-900.ckpt",
        "files": ["checkpoints/step-900.ckpt", "checkpoints/step-1000.ckpt"],
    }


@pytest.mark.parametrize(
    ("scenario", "code", "line"),
    [
        ("reject", 2, "num_minibatches=6 does not divide it."),
        ("reject_dependency", 3, "Install the extra 'atari'."),
    ],
)
def test_a_config_that_the_algorithm_refuses_leaves_nothing(
    start: Start, tmp_path: Path, scenario: str, code: int, line: str
) -> None:
    returncode, _, stderr = start(scenario).end()
    assert returncode == code
    assert stderr == f"{line}\n"
    assert not (tmp_path / "var").exists()


def test_a_refused_config_leaves_what_others_put_there(start: Start, tmp_path: Path) -> None:
    other = tmp_path / "var" / "trainer" / "runs" / "other"
    other.mkdir(parents=True)
    start("reject").end()
    assert list(other.parent.iterdir()) == [other]


def test_the_spool_of_the_daemon_survives_a_refusal(start: Start, tmp_path: Path) -> None:
    run_dir = tmp_path / "var" / "trainer" / "runs" / "run-1"
    run_dir.mkdir(parents=True)
    (run_dir / "events.jsonl").write_text("")
    code, _, _ = start("reject").end()
    assert code == 2
    assert [path.name for path in run_dir.iterdir()] == ["events.jsonl"]


def test_a_crash(start: Start) -> None:
    worker = start("crash", {**CONFIG, "extras": {"wandb_api_key": CANARY}})
    code, events, stderr = worker.end()
    assert code == 1
    failed = events[-1]
    assert failed["event"] == "run_failed"
    payload = failed["payload"]
    assert payload["error"] == "ValueError: the loss is nan"
    assert payload["error_type"] == "ValueError"
    assert payload["return_code"] == 1
    assert payload["stderr_log"] == "logs/cleanrl.stderr.log"
    assert payload["stderr_tail"][0] == "the key is ***"
    assert payload["stderr_tail"][-1] == "ValueError: the loss is nan"
    assert stderr.startswith("cleanrl-worker: ValueError: the loss is nan")
    assert len(stderr.splitlines()) == 1
    assert CANARY not in json.dumps(events)
    assert worker.manifest()["status"] == "failed"
    assert worker.manifest()["metrics"]["final"] == {RETURN: 1.0}


@pytest.mark.parametrize(
    ("scenario", "code", "error"),
    [
        ("exit_with_two", 1, "The algorithm process ended with exit code 2."),
        ("end_early", 1, "The algorithm process ended before it had finished."),
        ("run_out_of_disk", 2, "The checkpoint cannot be written."),
        ("be_killed", 137, "The algorithm process was killed by signal 9 (SIGKILL)."),
    ],
)
def test_other_ways_to_fail(start: Start, scenario: str, code: int, error: str) -> None:
    worker = start(scenario)
    returncode, events, _ = worker.end()
    assert returncode == code
    assert events[-1]["event"] == "run_failed"
    assert events[-1]["payload"]["error"].startswith(error)
    assert worker.manifest()["status"] == "failed"


def test_garbage_and_a_line_of_ten_megabytes_on_the_channel(start: Start) -> None:
    worker = start("garbage")
    code, events, stderr = worker.end()
    assert code == 0
    saved = next(event for event in events if event["event"] == "checkpoint_saved")
    assert len(saved["payload"]["text"]) == 10_000_000
    assert stderr.count("no message") == 2


def test_an_environment_that_outlives_the_algorithm_does_not_hold_the_run(start: Start) -> None:
    started = time.monotonic()
    worker = start("leave_a_child_with_the_channel")
    worker.wait_for("run_completed")
    worker.process.wait(timeout=10)
    assert time.monotonic() - started < 10
    os.killpg(worker.process.pid, signal.SIGKILL)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_worker_that_is_asked_to_stop_stops_its_algorithm(
    start: Start, number: signal.Signals, code: int
) -> None:
    worker = start("wait")
    worker.wait_for("metric")
    child = worker.child()
    worker.process.send_signal(number)
    returncode, events, stderr = worker.end()
    assert (returncode, stderr) == (code, "")
    assert events[-1]["event"] == "run_cancelled"
    assert events[-1]["payload"]["signal"] == number.name
    assert events[-1]["payload"]["step"] == 42
    assert not child.is_running()
    assert worker.manifest()["status"] == "cancelled"


def test_an_algorithm_that_ignores_the_request_is_killed_after_the_grace(start: Start) -> None:
    worker = start("hang", grace_s=0.3)
    worker.wait_for("metric")
    worker.process.send_signal(signal.SIGTERM)
    returncode, events, _ = worker.end()
    assert returncode == 143
    assert events[-1]["event"] == "run_cancelled"


def test_a_second_interrupt_kills_at_once(start: Start) -> None:
    worker = start("hang", grace_s=60)
    worker.wait_for("metric")
    started = time.monotonic()
    worker.process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    worker.process.send_signal(signal.SIGINT)
    returncode, _, _ = worker.end()
    assert returncode == 130
    assert time.monotonic() - started < 5


def test_kill_9_of_the_worker_ends_its_algorithm(start: Start) -> None:
    worker = start("hang")
    worker.wait_for("metric")
    child = worker.child().pid
    worker.process.kill()
    worker.process.wait()
    assert wait_until_gone(child)
    assert worker.manifest()["status"] == "running", "a killed run still has its manifest"


def test_heartbeats_while_the_algorithm_lives(start: Start) -> None:
    worker = start("wait", heartbeat_s=0.2)
    worker.wait_for("metric")
    first = worker.wait_for("heartbeat")
    second = worker.wait_for("heartbeat")
    assert 0.1 < second["timestamp"] - first["timestamp"] < 2
    assert first["payload"]["step"] == 42
    assert first["payload"]["steps_per_second"] == 9.0
    assert first["payload"]["pid"] == worker.child().pid
    assert first["payload"]["rss_mb"] > 1


def test_a_reader_that_hangs_does_not_hold_the_training(start: Start) -> None:
    worker = start("flood", metric_s=0.01)
    assert worker.process.stdout is not None
    deadline = time.monotonic() + 20
    while psutil.Process(worker.process.pid).children() == [] and time.monotonic() < deadline:
        time.sleep(0.01)
    child = worker.child().pid
    assert wait_until_gone(child, timeout_s=20), "it ended, though nobody read the worker's stdout"
    code, events, _ = worker.end()
    assert code == 0
    assert names(events)[-1] == "run_completed"
    assert events[-2]["payload"]["values"] == {RETURN: 49_999.0}


def test_metric_events_are_at_most_two_a_second(start: Start) -> None:
    _, events, _ = start("flood", metric_s=0.5).end()
    times = [event["timestamp"] for event in events if event["event"] == "metric"]
    assert all(after - before > 0.45 for before, after in itertools.pairwise(times))


def test_a_run_directory_is_used_once(start: Start) -> None:
    first = start("complete")
    first.end()
    before = first.manifest()
    code, _, stderr = start("complete").end()
    assert code == 2
    assert "run_id='run-1' was used before" in stderr
    assert len(stderr.splitlines()) == 1
    assert first.manifest() == before


def test_a_disk_that_takes_nothing_is_one_line(start: Start, tmp_path: Path) -> None:
    worker = start("complete", prefix=("bash", "-c", 'ulimit -f 0; exec "$@"', "-"))
    code, events, stderr = worker.end()
    assert (code, events) == (2, [])
    assert "cannot be written: File too large" in stderr
    assert len(stderr.splitlines()) == 1
    assert not (tmp_path / "var").exists()


def test_of_two_workers_with_one_run_id_one_trains(start: Start) -> None:
    workers = [start("complete") for _ in range(2)]
    assert sorted(worker.end()[0] for worker in workers) == [0, 2]
