"""Turning the pages of a list whose pages are only known one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from gym_gui.listing import PAGE_SIZES, RunFilters


class PageTurner:
    """First, previous and next, and how many rows a page has. `turn` gets the changed fields."""

    def __init__(self, filters: RunFilters, turn: Callable[..., Any]) -> None:
        self._turn = turn
        self._before: list[str] = []  # where the pages before this one begin
        self._here = filters.after
        self._next = ""
        self._done = 0 if not filters.after else -1  # rows before this page; -1: not known
        self._sizes: list[int] = []
        with ui.row().classes("w-full items-center justify-end gap-2"):
            if not filters.group:
                ui.select(
                    {size: f"{size} a page" for size in PAGE_SIZES},
                    value=filters.size,
                    on_change=lambda event: self._resize(event.value),
                ).props("dense borderless options-dense aria-label='Rows a page'")
            self._range = ui.label().classes("mosaic-muted mosaic-number").props("aria-live=polite")
            self._first = self._button("first_page", "First page", self._to_first)
            self._previous = self._button("chevron_left", "Previous page", self._to_previous)
            self._following = self._button("chevron_right", "Next page", self._to_next)

    def _button(self, icon: str, label: str, click: Callable[[], Any]) -> ui.button:
        return ui.button(icon=icon, on_click=click).props(f"flat round dense aria-label='{label}'")

    def show(self, next_token: str, shown: int, total: int) -> None:
        self._next = next_token
        self._sizes = [*self._sizes[: len(self._before)], shown]
        self._first.set_enabled(bool(self._here))
        self._previous.set_enabled(bool(self._before))
        self._following.set_enabled(bool(next_token))
        begin = sum(self._sizes[:-1]) + 1
        if self._done < 0:
            self._range.set_text(f"{shown} of {total:,}")
        else:
            self._range.set_text(
                f"{begin:,} to {begin + shown - 1:,} of {total:,}" if shown else ""
            )

    def forget(self) -> None:
        """Begin at the first page again."""
        self._before, self._here, self._sizes, self._done = [], "", [], 0

    async def _resize(self, size: int) -> None:
        self.forget()
        await self._turn(size=size)

    async def _to_first(self) -> None:
        self.forget()
        await self._turn(after="")

    async def _to_previous(self) -> None:
        self._here = self._before.pop()
        await self._turn(after=self._here)

    async def _to_next(self) -> None:
        self._before.append(self._here)
        self._here = self._next
        await self._turn(after=self._here)
