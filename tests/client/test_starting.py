"""The daemon on demand: started by whoever needs it, once, and stopped without its runs."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.client.connecting import connect
from mosaic.client.locating import find_daemon, has_daemon, read_info
from mosaic.client.starting import daemon_environment, stop_daemon
from mosaic.contracts.errors import DaemonUnreachable
from mosaic.contracts.paths import VarPaths


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[VarPaths]:
    monkeypatch.delenv("MOSAIC_GRPC_TARGET", raising=False)
    found = VarPaths(tmp_path / "var")
    found.root.mkdir()
    found.settings.write_text("[trainer]\nport = 0\n")
    yield found
    stop_daemon(found)


def test_clients_at_the_same_moment_start_one_daemon(paths: VarPaths) -> None:
    pids = []

    def ask() -> None:
        with connect(paths) as client:
            pids.append(client.health().pid)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pids) == 3
    assert len(set(pids)) == 1
    assert paths.daemon_output.read_text().count("already") == 0  # nobody started a second one
    assert os.getsid(pids[0]) == pids[0]  # it outlives the terminal that asked for it


def test_a_daemon_that_was_killed_is_replaced(paths: VarPaths) -> None:
    with connect(paths) as client:
        first = client.health().pid
    os.kill(first, signal.SIGKILL)
    wait_until_gone(paths)
    assert paths.daemon_info.exists()  # what it left says nothing of a living one
    assert find_daemon(paths) is None
    with connect(paths) as client:
        assert client.health().pid != first


def test_stopping_waits_until_it_is_gone(paths: VarPaths) -> None:
    with connect(paths) as client:
        pid = client.health().pid
    assert stop_daemon(paths) == pid
    assert not has_daemon(paths)
    assert stop_daemon(paths) is None
    with pytest.raises(DaemonUnreachable, match="No trainer daemon runs for"):
        connect(paths, start=False)


def test_a_daemon_that_cannot_start_says_why(paths: VarPaths) -> None:
    paths.settings.write_text("[trainer]\nport = 'high'\n")
    with pytest.raises(DaemonUnreachable) as failed:
        connect(paths)
    line = failed.value.one_line()
    assert line.startswith("The trainer daemon did not start: ")
    assert "trainer.port='high' is not allowed" in line
    assert str(paths.daemon_output) in line


def test_a_daemon_that_still_starts_is_waited_for(paths: VarPaths) -> None:
    paths.trainer.mkdir()
    handle = os.open(paths.daemon_lock, os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)
    threading.Timer(0.3, os.close, (handle,)).start()
    begin = time.monotonic()
    with pytest.raises(DaemonUnreachable, match="ended while it started"):
        connect(paths)
    assert time.monotonic() - begin > 0.2
    with pytest.raises(DaemonUnreachable, match="No trainer daemon"):
        connect(paths, start=False)


def test_the_daemon_has_no_secrets_and_belongs_to_no_run(
    paths: VarPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "c4n4ry")
    monkeypatch.setenv("MOSAIC_RUN_ID", "R1")
    monkeypatch.setenv("MUJOCO_GL", "egl")
    made = daemon_environment(paths)
    assert not {"WANDB_API_KEY", "MOSAIC_RUN_ID"} & set(made)
    assert made["MUJOCO_GL"] == "egl"
    assert made["MOSAIC_VAR_DIR"] == str(paths.root)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x", "port": 1}', '{"pid": 1}'])
def test_a_damaged_daemon_json_names_no_daemon(paths: VarPaths, text: str) -> None:
    paths.trainer.mkdir()
    paths.daemon_info.write_text(text)
    assert read_info(paths) is None


def wait_until_gone(paths: VarPaths) -> None:
    deadline = time.monotonic() + 10
    while has_daemon(paths):
        assert time.monotonic() < deadline
        time.sleep(0.01)
