"""The event emitter: whole lines, nothing else on stdout, and never a reason to stop training."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.workers.emitter import EventEmitter

SOURCE = str(Path(__file__).parents[2] / "src")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    for descriptor in (reading, writing):
        try:
            os.close(descriptor)
        except OSError:
            continue


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
        timeout=20,
        check=False,
    )


def test_whatever_is_printed_after_the_claim_goes_to_stderr() -> None:
    done = run_python(
        "import os, subprocess, sys\n"
        "from mosaic.workers.emitter import EventEmitter\n"
        "emitter = EventEmitter.claim_stdout()\n"
        "print('from print', flush=True)\n"
        "os.write(1, b'from the descriptor\\n')\n"
        "subprocess.run(['echo', 'from a child'])\n"
        "emitter.emit('heartbeat', 'r', {'step': 1})\n"
        "emitter.close()\n"
    )
    assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == ["heartbeat"]
    assert done.stderr.splitlines() == ["from print", "from the descriptor", "from a child"]


def test_lines_of_many_threads_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "events"
    emitter = EventEmitter(os.open(path, os.O_WRONLY | os.O_CREAT))
    payload = {"text": "x" * 10_000}

    def send(number: int) -> None:
        for _ in range(20):
            emitter.emit("metric", str(number), payload)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    emitter.close()
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(events) == 160
    assert all(event["payload"] == payload for event in events)


def test_a_line_of_ten_megabytes_arrives_whole(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    emitter = EventEmitter(writing)
    emitter.emit("metric", "r", {"text": "x" * 10_000_000})
    with os.fdopen(os.dup(reading), "rb") as file:
        event = json.loads(file.readline())
    emitter.close()
    assert len(event["payload"]["text"]) == 10_000_000


def test_a_reader_that_hangs_makes_nobody_wait(pipe: tuple[int, int]) -> None:
    emitter = EventEmitter(pipe[1])
    started = time.monotonic()
    for _ in range(1_000):
        emitter.emit("heartbeat", "r", {"text": "x" * 1_000})
    assert time.monotonic() - started < 1.0
    assert emitter.backlog <= 64
    emitter.emit("run_completed", "r", {})
    os.set_blocking(pipe[0], False)
    text = b""
    deadline = time.monotonic() + 5
    while b"run_completed" not in text and time.monotonic() < deadline:
        try:
            text += os.read(pipe[0], 1 << 20)
        except BlockingIOError:
            time.sleep(0.01)
    emitter.close()
    assert b"run_completed" in text, "what matters is kept when heartbeats are not"


def test_a_reader_that_left_stops_nothing(
    pipe: tuple[int, int], caplog: pytest.LogCaptureFixture
) -> None:
    reading, writing = pipe
    os.close(reading)
    emitter = EventEmitter(writing)
    for _ in range(3):
        emitter.emit("heartbeat", "r", {})
    emitter.close(timeout_s=5)
    assert emitter.backlog == 0
    assert len(caplog.records) == 1, "said once"


def test_a_closed_stdout_stops_nothing() -> None:
    done = run_python(
        "import os\nos.close(1)\n"
        "from mosaic.workers.emitter import EventEmitter\n"
        "emitter = EventEmitter.claim_stdout()\n"
        "emitter.emit('heartbeat', 'r', {})\n"
        "emitter.close()\n"
        "print('still here')\n"
    )
    assert done.returncode == 0
    assert "still here" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's")
def test_a_full_disk_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    emitter = EventEmitter(os.open("/dev/full", os.O_WRONLY))
    emitter.emit("heartbeat", "r", {})
    emitter.close(timeout_s=5)
    assert "No space left" in caplog.text


def test_events_are_recorded_in_a_file_as_well(tmp_path: Path) -> None:
    stdout, record = tmp_path / "stdout", tmp_path / "events.jsonl"
    emitter = EventEmitter(os.open(stdout, os.O_WRONLY | os.O_CREAT))
    emitter.record_to(record)
    emitter.emit("heartbeat", "r", {})
    emitter.close()
    assert record.read_text() == stdout.read_text() != ""


def test_a_stdout_that_is_the_record_gets_each_event_once(tmp_path: Path) -> None:
    record = tmp_path / "events.jsonl"
    emitter = EventEmitter(os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    emitter.record_to(record)
    emitter.emit("heartbeat", "r", {})
    emitter.close()
    assert len(record.read_text().splitlines()) == 1


def test_numbers_that_json_has_not_travel_as_text(tmp_path: Path) -> None:
    path = tmp_path / "events"
    emitter = EventEmitter(os.open(path, os.O_WRONLY | os.O_CREAT))
    emitter.emit("metric", "r", {"values": {"losses/value_loss": float("nan")}})
    emitter.close()
    assert json.loads(path.read_text())["payload"]["values"] == {"losses/value_loss": "nan"}
