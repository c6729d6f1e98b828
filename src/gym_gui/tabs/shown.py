"""What the page of a run needs of the tab that is open."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from nicegui import ui

from gym_gui.run_view import RunView
from gym_gui.widgets.empty import empty


def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Shown:
    """An open tab: `refresh` is called once a second, `close` when another one is opened."""

    refresh: Callable[[], Awaitable[None] | None] = _nothing
    close: Callable[[], None] = _nothing


Build = Callable[[RunView], Shown]


def once_begun(view: RunView, build: Build) -> Shown:
    """Build a tab that shows what the manifest names, as soon as the run has one."""
    return build(view) if view.manifest else _Waiting(view, build).as_shown()


class _Waiting:
    def __init__(self, view: RunView, build: Build) -> None:
        self._view = view
        self._build = build
        self._shown: Shown | None = None
        self._body = ui.column().classes("w-full gap-4")
        with self._body:
            empty("The run has not started: there is nothing to show yet.")

    def as_shown(self) -> Shown:
        return Shown(self._refresh, self._close)

    async def _refresh(self) -> None:
        if self._shown is None and self._view.manifest:
            self._body.clear()
            with self._body:
                self._shown = self._build(self._view)
        if self._shown is not None:
            done = self._shown.refresh()
            if inspect.isawaitable(done):
                await done

    def _close(self) -> None:
        if self._shown is not None:
            self._shown.close()
