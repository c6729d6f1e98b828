"""A part of a page that needs the daemon: it says why it is not there, and comes by itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from gym_gui.live import Live
from mosaic.client.faults import DaemonFault
from mosaic.contracts.errors import DaemonUnreachable, MosaicError


async def retrying(live: Live, build: Callable[[], Awaitable[None]]) -> None:
    """Build it; while the daemon is away, say so, and build it once it is back."""
    box = ui.column().classes("w-full gap-4")
    is_waiting = False

    async def attempt() -> None:
        nonlocal is_waiting
        is_waiting = False
        box.clear()
        with box:
            try:
                await build()
            except DaemonUnreachable as error:
                is_waiting = True
                _say(f"{error.one_line()} This appears as soon as it answers.")
            except MosaicError as error:
                _say(error.one_line())
            except DaemonFault as error:
                _say(f"The daemon failed: {error}. 'mosaic logs --daemon' shows more.")

    async def look() -> None:
        if not is_waiting:
            timer.deactivate()
        elif live.is_connected:
            await attempt()

    await attempt()
    timer = ui.timer(1.0, look)


def _say(text: str) -> None:
    with ui.row().classes("w-full mosaic-panel items-center no-wrap").props("role=alert"):
        ui.icon("error_outline", size="sm")
        ui.label(text).classes("break-words min-w-0")
