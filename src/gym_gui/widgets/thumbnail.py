"""A small picture of an agent that is looked at now and then, as on a card."""

from __future__ import annotations

import time

from nicegui import ui

from gym_gui.widgets.environment_card import preview_address

_INTERVAL_S = 3.0


class Thumbnail:
    """A still picture, asked for again while the run moves.

    No stream: a browser opens only a handful of connections to one host, and there may be many
    cards. Until there is a frame the place shows what the environment looks like.
    """

    def __init__(self, run_id: str, env_id: str) -> None:
        self._address = f"/frames/{run_id}/still"
        self._asked_at = 0.0
        with ui.element("div").classes("w-16 h-12 shrink-0 rounded overflow-hidden relative"):
            if address := preview_address(env_id):
                preview = ui.element("img").classes("w-full h-full object-contain opacity-50")
                preview.props('alt=""').props["src"] = address
            else:
                ui.icon("sports_esports", size="md").classes("mosaic-muted").props(
                    "aria-hidden=true"
                )
            self._image = (
                ui.element("img")
                .classes("absolute inset-0 w-full h-full object-contain mosaic-frame")
                .props('alt="" onerror="this.style.opacity=0" onload="this.style.opacity=1"')
            )

    def show(self, *, is_moving: bool) -> None:
        now = time.monotonic()
        if is_moving and now - self._asked_at > _INTERVAL_S:
            self._asked_at = now
            # Another address each time: a browser does not ask twice for the same.
            self._image.props(f'src="{self._address}?at={now:.0f}"')
