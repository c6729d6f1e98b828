"""A key that could be recognised anywhere, through a whole run, a crash and an export: no trace."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import signal
import threading
import time
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mosaic.client.blocking import Client
from mosaic.contracts.tokens import read_token
from tests.trainer.daemons import Daemon, processes_of, running

CANARY = "ca9a2700" * 5  # as long as a key of W&B's
TRACES = [CANARY.encode(), base64.b64encode(f"api:{CANARY}".encode())]
# The password of a proxy, which a server on http:// is not asked through.
PROXY = f"http://user:{CANARY}@127.0.0.1:9"
TRACES.append(base64.b64encode(f"user:{CANARY}".encode()))


class _Server(ThreadingHTTPServer):
    """A W&B that knows nobody: it answers every call as the real one does a wrong key."""

    seen: list[str]


class _Handler(BaseHTTPRequestHandler):
    def _refuse(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.seen.append(self.headers.get("authorization") or "")  # type: ignore[attr-defined]
        body = json.dumps({"errors": [{"message": "user is not logged in"}]}).encode()
        self.send_response(401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_POST = do_HEAD = _refuse  # noqa: N815 - the names are the base class's

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def wandb_server() -> Iterator[_Server]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.seen = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def config(server: _Server, steps: int) -> dict[str, Any]:
    extras = {
        "track_wandb": True,
        "wandb_project": "demo",
        "wandb_api_key": CANARY,
        "wandb_https_proxy": PROXY,
        "fastlane_video_mode": "off",
        "save_model": False,
        "algo_params": {"num_envs": 2, "num_steps": 32},
    }
    worker = {"algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": steps, "seed": 1}
    return {
        "environment": {"WANDB_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}"},
        "metadata": {
            "worker": {"module": "cleanrl_worker.cli", "config": {**worker, "extras": extras}}
        },
    }


def test_no_trace_of_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wandb_server: _Server
) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    with running(tmp_path / "var") as daemon, connected(daemon) as client:
        good = client.submit(config(wandb_server, 256)).run.run_id
        bad = client.submit(config(wandb_server, 10_000_000)).run.run_id
        hits = watch_arguments(daemon, good, bad)
        assert daemon.run(good).outcome == "succeeded", daemon.details(good).last_lines
        assert daemon.run(bad).outcome == "failed"
        archives = [b"".join(client.export(run, with_checkpoints=True)) for run in (good, bad)]
        notes = b"".join(client.logs(good, "worker")).decode()
        manifest = json.loads(daemon.details(good).manifest_json)
        assert not processes_of(good)
    assert any(TRACES[1].decode() in given for given in wandb_server.seen), "the key was used"
    assert "W&B is offline: CommError: user is not logged in" in notes
    assert manifest["artifacts"]["wandb"]["mode"] == "offline"
    assert manifest["wandb_run_path"] == f"demo/{good}"
    assert hits == []
    for archive in archives:
        files = zipfile.ZipFile(io.BytesIO(archive))
        assert any(name.endswith(".wandb") for name in files.namelist())
        assert not [name for name in files.namelist() if has_trace(files.read(name))]
    found = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink()]
    assert len(found) > 20
    assert not [path for path in found if has_trace(path.read_bytes())]


@contextlib.contextmanager
def connected(daemon: Daemon) -> Iterator[Client]:
    info = json.loads(daemon.paths.daemon_info.read_text())
    token = read_token(daemon.paths.daemon_token)
    assert token is not None
    with Client(f"127.0.0.1:{info['port']}", token) as client:
        yield client


def watch_arguments(daemon: Daemon, good: str, bad: str) -> list[str]:
    """Follow both runs to their ends, the second to one by force; return who named the key."""
    hits: list[str] = []
    deadline = time.monotonic() + 100
    killed = False
    while time.monotonic() < deadline:
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and has_trace((entry / "cmdline").read_bytes()):
                    hits.append(entry.name)
        states = [daemon.run(run_id).state for run_id in (good, bad)]
        if all(state == "TERMINATED" for state in states):
            return hits
        # Once W&B has written: what it leaves behind is looked through as well.
        if not killed and list(daemon.paths.run(bad).wandb.glob("offline-run-*/run-*.wandb")):
            killed = _kill_algorithm(bad)
        time.sleep(0.2)
    raise AssertionError(f"the runs have not ended: {states}")


def _kill_algorithm(run_id: str) -> bool:
    for pid in processes_of(run_id):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"cleanrl_worker.launcher" in words:
                os.kill(pid, signal.SIGSEGV)
                return True
    return False


def has_trace(data: bytes) -> bool:
    return any(trace in data for trace in TRACES)
