"""W&B beside the training: what it is told, and that nothing it does is the training's trouble."""

from __future__ import annotations

import math
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker import wandb_sink, wandb_tracker
from cleanrl_worker.wandb_sink import WandbSink, wandb_variables
from mosaic.contracts.wandb_files import find_wandb_file, read_identity, read_log

TAG = "charts/episodic_return"


@pytest.fixture(autouse=True)
def _no_login(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in [name for name in os.environ if name.startswith("WANDB_") or name == "NETRC"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MOSAIC_RUN_ID", "RUN")


def open_sink(directory: Path, notes: list[str]) -> WandbSink:
    return WandbSink(
        directory, project="demo", entity=None, config={"gamma": 0.99}, say=notes.append
    )


def test_an_offline_run_is_read_from_its_own_files(tmp_path: Path) -> None:
    notes: list[str] = []
    sink = open_sink(tmp_path, notes)
    values = {step: math.sin(step) for step in range(3000)}  # more than a block of the file
    for step, value in values.items():
        sink.scalars(step, {TAG: value, "losses/value_loss": float(step)})
    sink.scalars(0, {"eval/episodic_return": 7.0})
    sink.scalars(1, {"eval/episodic_return": 9.0})
    sink.close()
    assert len(notes) == 1, notes
    assert "offline: there is no API key" in notes[0]
    assert "wandb sync" in notes[0]
    file = find_wandb_file(tmp_path / "wandb")
    assert file is not None
    log = read_log(file)
    assert (log.run_path, log.run_id, log.is_offline) == ("demo/RUN", "RUN", True)
    assert log.config["gamma"] == 0.99
    assert log.curves[TAG] == [(float(step), value) for step, value in values.items()]
    assert log.curves["eval/episodic_return"] == [(0.0, 7.0), (1.0, 9.0)]
    assert log.summary["losses/value_loss"] == 2999
    assert not list((tmp_path / "home").rglob("*netrc*"))
    _check_damaged(tmp_path, file.read_bytes())


def test_an_attempt_to_go_online_gives_way_to_the_offline_run_of_the_same_second(
    tmp_path: Path,
) -> None:
    for name in ("run-20260101_120000-x", "offline-run-20260101_120000-x"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run-x.wandb").touch()
    found = find_wandb_file(tmp_path)
    assert found is not None
    assert found.parent.name.startswith("offline")


def _check_damaged(tmp_path: Path, data: bytes) -> None:
    """A file that is being written, or was, tells what is whole of it."""
    folder = tmp_path / "wandb" / "offline-run-99999999_000000-x"
    folder.mkdir()
    path = folder / "run-x.wandb"
    for size in (len(data) // 2, 40_000, 100, 7, 0):
        path.write_bytes(data[:size])
        log = read_log(path)
        assert len(log.curves.get(TAG, [])) <= 3000
        assert read_identity(path).path == path
    path.write_bytes(data[:5000] + b"\xff" * 500 + data[5500:])
    assert len(read_log(path).curves.get(TAG, [])) < 3000
    path.write_bytes(b"something else" * 1000)
    assert read_log(path).curves == {}


def tracker(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr(wandb_sink, "_COMMAND", (sys.executable, "-c", code))


def test_a_tracker_that_hangs_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker(monkeypatch, "import time; time.sleep(600)")
    monkeypatch.setattr(wandb_sink, "FINISH_S", 0.0)
    notes: list[str] = []
    sink = open_sink(tmp_path, notes)
    began = time.monotonic()
    for step in range(50_000):
        sink.scalars(step, {TAG: 1.0})
    assert time.monotonic() - began < 10, "the pipe is full, and the training does not wait"
    sink.close()
    assert time.monotonic() - began < 20
    assert "points are left out" in notes[0]
    assert "did not finish" in notes[-1]
    assert sink._process.poll() is not None


def test_a_tracker_that_is_killed_is_missed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker(monkeypatch, "import sys; sys.stdin.read()")
    notes: list[str] = []
    sink = open_sink(tmp_path, notes)
    sink.scalars(1, {TAG: 1.0})
    os.kill(sink._process.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    step = 2
    while not notes and time.monotonic() < deadline:
        sink.scalars(step, {TAG: 1.0})
        step += 1
        time.sleep(0.01)
    for later in range(step, step + 30_000):
        sink.scalars(later, {TAG: 1.0})
    sink.flush()
    sink.close()
    assert notes == ["W&B ended by itself: the run goes on without it."]


def test_a_run_that_is_told_to_stop_gives_wandb_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker(monkeypatch, "import sys, time; sys.stdin.read(); time.sleep(600)")
    monkeypatch.setattr(wandb_sink, "_STOP_S", 0.2)
    notes: list[str] = []
    sink = open_sink(tmp_path, notes)
    sink.is_stopping = lambda: True
    began = time.monotonic()
    sink.close()
    assert time.monotonic() - began < 5


@pytest.fixture
def closed_port() -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        yield probe.getsockname()[1]  # bound, and nobody listens


def test_what_is_possible(
    monkeypatch: pytest.MonkeyPatch, closed_port: int, tmp_path: Path
) -> None:
    assert wandb_tracker._mode("offline") == ("offline", "")
    assert wandb_tracker._mode("disabled") == ("disabled", "")
    assert "no API key" in wandb_tracker._mode(None)[1]
    monkeypatch.setenv("WANDB_API_KEY", "k" * 40)
    monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{closed_port}")
    assert wandb_tracker._mode("online") == ("offline", "127.0.0.1 cannot be reached")
    monkeypatch.delenv("WANDB_API_KEY")
    (tmp_path / "home" / ".netrc").write_text("machine 127.0.0.1 login user password secret\n")
    assert "cannot be reached" in wandb_tracker._mode("online")[1], "an earlier login is used"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "wandb").write_text("a file")
    assert wandb_tracker._prepare(tmp_path)


@pytest.mark.parametrize(
    ("options", "variables"),
    [
        ({}, {}),
        ({"track_wandb": False, "wandb_email": "a@b"}, {}),
        ({"track_wandb": True, "wandb_email": "a@b"}, {"WANDB_EMAIL": "a@b"}),
        ({"track_wandb": True, "wandb_run_name": "n"}, {"WANDB_NAME": "n"}),
        ({"track_wandb": True, "wandb_mode": "offline"}, {"WANDB_MODE": "offline"}),
        (
            {"track_wandb": True, "wandb_https_proxy": "http://p:1"},
            {"WANDB_HTTPS_PROXY": "http://p:1"},
        ),
        (
            {"track_wandb": True, "wandb_https_proxy": "http://p:1", "wandb_use_vpn_proxy": False},
            {"WANDB_HTTP_PROXY": "", "WANDB_HTTPS_PROXY": ""},
        ),
    ],
)
def test_variables(options: dict[str, Any], variables: dict[str, str]) -> None:
    expected = {"TRACK_WANDB": "1", **variables} if options.get("track_wandb") else {}
    assert wandb_variables(options, {}) == expected


def test_a_lost_key_makes_the_run_go_offline() -> None:
    options = {"track_wandb": True, "wandb_mode": "online"}
    assert wandb_variables(options, {"WANDB_MODE": "offline"})["WANDB_MODE"] == "offline"


def test_a_proxy_with_a_password_comes_from_the_environment() -> None:
    options = {"track_wandb": True, "wandb_http_proxy": "http://***@proxy:1"}
    assert "WANDB_HTTP_PROXY" not in wandb_variables(options, {})


def test_the_server_is_reached_through_wandbs_own_proxy(
    monkeypatch: pytest.MonkeyPatch, closed_port: int
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "k" * 40)
    monkeypatch.setenv("WANDB_BASE_URL", "http://wandb.invalid")
    proxy = HTTPServer(("127.0.0.1", 0), _Proxy)
    thread = threading.Thread(target=proxy.handle_request)
    thread.start()
    monkeypatch.setenv("WANDB_HTTP_PROXY", f"http://127.0.0.1:{proxy.server_address[1]}")
    assert wandb_tracker._mode("online") == ("online", "")
    thread.join()
    proxy.server_close()
    monkeypatch.setenv("WANDB_HTTP_PROXY", f"http://127.0.0.1:{closed_port}")
    assert "cannot be reached" in wandb_tracker._mode("online")[1]


class _Proxy(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(200 if self.path == "http://wandb.invalid/healthz" else 404)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
