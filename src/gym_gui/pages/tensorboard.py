"""TensorBoard over several runs: /tensorboard?runs=A,B."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import quote

from nicegui import ui
from starlette.requests import Request

from gym_gui.frame import frame, page_at
from gym_gui.live import Live
from gym_gui.tabs.tensorboard import BoardView, board_name, event_files
from gym_gui.widgets.empty import empty
from gym_gui.widgets.headings import heading
from gym_gui.widgets.retrying import retrying
from mosaic.contracts.errors import MosaicError

MOST_RUNS = 50


def address_of(run_ids: list[str]) -> str:
    """Return where the TensorBoard of these runs is."""
    return f"/tensorboard?runs={quote(','.join(run_ids), safe=',')}"


def add(live: Live) -> None:
    @page_at("/tensorboard")
    async def page(request: Request) -> None:
        words = request.query_params.get("runs", "").split(",")
        run_ids = list(dict.fromkeys(word.strip() for word in words if word.strip()))
        with frame(live, "Compare"):
            heading("TensorBoard")
            await retrying(live, lambda: _open(live, run_ids[:MOST_RUNS]))


async def _open(live: Live, run_ids: list[str]) -> None:
    client = live.need_client()
    found = await asyncio.gather(
        *(client.get_run(run_id) for run_id in run_ids), return_exceptions=True
    )
    folders: dict[str, Path] = {}
    problems = []
    for each in found:
        if isinstance(each, MosaicError):
            problems.append(each.one_line())
        elif isinstance(each, BaseException):
            raise each
        else:
            folder = event_files(each)
            if folder is None:
                problems.append(f"Run {each.run.run_id} writes no TensorBoard files.")
            else:
                folders[board_name(each.run.algo, each.run.run_id)] = folder
    for problem in problems:
        ui.label(problem).classes("w-full mosaic-panel").props("role=alert")
    if not folders:
        empty("No run with TensorBoard files was chosen.", action="All runs", path="/runs")
        return
    shown = BoardView(live.boards, folders)
    ui.timer(5.0, shown.refresh)
