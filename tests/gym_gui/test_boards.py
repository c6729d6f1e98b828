"""TensorBoard under our own address: started when asked for, kept up, stopped when idle."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from fastapi import FastAPI

from cleanrl_worker.tensorboard import TensorBoardWriter
from gym_gui import boards as module
from gym_gui.board_route import add_boards
from gym_gui.boards import Board, Boards
from gym_gui.guard import Guard
from gym_gui.tabs.tensorboard import event_files
from mosaic.contracts.gui_access import Access, cookie_name
from mosaic.proto import trainer_pb2 as pb

TAG = "charts/episodic_return"
PORT = 8765
HOST = f"127.0.0.1:{PORT}"


@pytest.fixture
async def boards() -> AsyncIterator[Boards]:
    opened = Boards()
    yield opened
    for board in list(opened._boards.values()):
        await opened.stop(board)


def writer_in(folder: Path, values: Mapping[int, float]) -> TensorBoardWriter:
    writer = TensorBoardWriter(folder)
    for step, value in values.items():
        writer.scalars(step, {TAG: value})
    writer.flush()
    return writer


def browser(boards: Boards, **headers: str) -> httpx.AsyncClient:
    """Return a client that comes through the guard as a browser does."""
    app = FastAPI()
    add_boards(app, boards)
    access = Access("a secret of this test")
    guard = Guard(app, access, [HOST], PORT)
    session = access.use_link(access.make_link_token())
    given = {"cookie": f"{cookie_name(PORT)}={session}", **headers}
    transport = httpx.ASGITransport(app=guard)
    return httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}", headers=given)


async def scalars(client: httpx.AsyncClient, board: Board, run: str) -> Any:
    query = {"run": run, "tag": TAG}
    return (await client.get(f"{board.address}data/plugin/scalars/scalars", params=query)).json()


async def test_shows_a_run_in_progress_through_the_guard(boards: Boards, tmp_path: Path) -> None:
    writer = writer_in(tmp_path / "one", {1: 10.0})
    writer_in(tmp_path / "two", {1: 7.0}).close()
    board = boards.open({"ppo-A": tmp_path / "one", "ppo-B": tmp_path / "two"})
    assert await board.is_ready(), board.last_words()
    async with browser(boards) as client:
        page = await client.get(board.address)
        assert page.status_code == 200
        assert "<tf-tensorboard" in page.text or "<tb-webapp" in page.text
        assert page.headers["x-frame-options"] == "SAMEORIGIN"
        async with asyncio.timeout(30):
            while not await _has(client, board, "ppo-B"):
                await asyncio.sleep(0.2)
        assert [point[1:] for point in await scalars(client, board, "ppo-A")] == [[1, 10.0]]
        writer.scalars(2, {TAG: 20.0})
        writer.close()
        async with asyncio.timeout(30):  # it looks again by itself
            while len(await scalars(client, board, "ppo-A")) < 2:
                await asyncio.sleep(0.5)
    assert boards.open(board.folders) is board, "the same files are one board"


async def _has(client: httpx.AsyncClient, board: Board, run: str) -> bool:
    tags = (await client.get(f"{board.address}data/plugin/scalars/tags")).json()
    return TAG in tags.get(run, {})


async def test_nobody_else_reaches_it(boards: Boards, tmp_path: Path) -> None:
    board = boards.open({"run": tmp_path})
    async with browser(boards, cookie="") as stranger:
        assert (await stranger.get(board.address)).status_code == 401
    async with browser(boards, origin="http://evil.example") as page:
        assert (await page.post(f"{board.address}data/plugin/timeseries")).status_code == 403
    async with browser(boards) as client:
        assert (await client.get("/tensorboard/other/")).status_code == 404
        large = await client.post(
            board.address, content=b"0" * (9 << 20), headers={"origin": f"http://{HOST}"}
        )
        assert large.status_code == 413
    assert stat.S_IMODE(board.home.stat().st_mode) == 0o700, "the socket is this user's alone"
    listening = psutil.Process(board.process.pid).net_connections("inet")
    assert listening == []


async def test_ends_when_idle_and_leaves_nothing(
    boards: Boards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IDLE_S", 0.5)
    board = boards.open({"run": tmp_path})
    keeping = asyncio.create_task(boards.keep())
    async with asyncio.timeout(20):
        while board.home.exists():  # the last of it
            await asyncio.sleep(0.1)
    keeping.cancel()
    assert not board.is_alive
    assert boards.find(board.key) is None


def test_ends_with_a_gui_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from gym_gui.boards import Boards;"
        "board = Boards().open({'run': Path(sys.argv[1])});"
        "print(board.process.pid, board.home, flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as gui:
        assert gui.stdout is not None
        pid, home = gui.stdout.readline().split()
        os.kill(gui.pid, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while psutil.pid_exists(int(pid)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not psutil.pid_exists(int(pid))
    for name in ("socket", "log"):
        Path(home, name).unlink(missing_ok=True)


@pytest.mark.parametrize(
    "folder", ["tensorboard", "..", "/etc", "a/../../b", "link", None, 3, "a\0b"]
)
def test_no_folder_outside_the_run_is_shown(tmp_path: Path, folder: Any) -> None:
    """An imported run's manifest names whatever its author wrote."""
    run_dir = tmp_path / "RUN"
    (run_dir / "tensorboard").mkdir(parents=True)
    (run_dir / "link").symlink_to(tmp_path)
    named = {"artifacts": {"tensorboard": {"enabled": True, "relative_path": folder}}}
    details = pb.RunDetails(run_dir=str(run_dir), manifest_json=json.dumps(named))
    shown = run_dir / "tensorboard" if folder == "tensorboard" else None
    assert event_files(details) == shown
