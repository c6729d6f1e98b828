"""The application: pages over one live view of the daemon, behind the guard."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from nicegui import ui

from gym_gui.assets import AssetCache
from gym_gui.board_route import add_boards
from gym_gui.dataset_route import add_dataset
from gym_gui.export_route import add_export
from gym_gui.frames import add_frames
from gym_gui.guard import Guard
from gym_gui.live import Live
from gym_gui.login import add_login
from gym_gui.play_route import add_played
from gym_gui.styles import add_styles
from mosaic.contracts.gui_access import Access

# Each has `add(live)`, which defines the pages of the module.
_PAGES = (
    *("home", "launch", "runs", "run", "compare", "policies", "sweeps", "environments", "play"),
    *("system", "tensorboard", "sweep", "policy_play", "versus"),
)


def build(live: Live, access: Access, *, hosts: list[str], port: int, start: bool = True) -> Guard:
    """Return the whole application as one ASGI callable."""

    @asynccontextmanager
    async def follow(_: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(live.follow(start=start))]
        tasks.append(asyncio.create_task(live.boards.keep()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()

    app = FastAPI(lifespan=follow, docs_url=None, redoc_url=None, openapi_url=None)
    add_styles(app)
    add_login(app, access, port)
    add_frames(app, live.cameras)
    add_boards(app, live.boards)
    add_played(app)
    add_export(app, live)
    add_dataset(app, live)
    for name in _PAGES:
        page: Any = importlib.import_module(f"gym_gui.pages.{name}")
        page.add(live)
    ui.run_with(
        app,
        title="MOSAIC",
        favicon="🧩",
        storage_secret=access.storage_secret,
        show_welcome_message=False,
        reconnect_timeout=10.0,
        tailwind=False,  # a compiler in the browser; static/utilities.css has the classes in use
    )
    return Guard(AssetCache(app), access, hosts, port)
