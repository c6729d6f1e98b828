"""What the page of a run needs of the tab that is open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gym_gui.run_view import RunView


def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Shown:
    """An open tab: `refresh` is called once a second, `close` when another one is opened."""

    refresh: Callable[[], Awaitable[None] | None] = _nothing
    close: Callable[[], None] = _nothing


Build = Callable[[RunView], Shown]
