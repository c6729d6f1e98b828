"""Where progress goes: a live line on a terminal, plain lines elsewhere, or nowhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, TextIO

from mosaic.cli.progress import Progress

PLAIN_INTERVAL_S = 5.0
PLAIN_WIDTH = 100
_REFRESHES_A_SECOND = 8


class Display(Protocol):
    def __enter__(self) -> Display: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def tick(self) -> None:
        """Show the present state, where it is time to."""

    def note(self, text: str) -> None:
        """Show a line that stays."""


def choose_display(progress: Progress, *, is_silent: bool) -> Display:
    if is_silent:
        return SilentDisplay()
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        return LiveDisplay(progress)
    return PlainDisplay(progress, sys.stdout)


class _Quiet:
    """What a display that holds no resource has in common."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None


class SilentDisplay(_Quiet):
    def __enter__(self) -> SilentDisplay:
        return self

    def tick(self) -> None:
        return None

    def note(self, text: str) -> None:
        print(text, file=sys.stderr)


class PlainDisplay(_Quiet):
    """A line at the start, then one every few seconds while there is something new."""

    def __init__(
        self, progress: Progress, out: TextIO, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._progress = progress
        self._out = out
        self._clock = clock
        self._next = clock() + PLAIN_INTERVAL_S
        self._shown_step = 0
        self._shown_hold = progress.hold

    def __enter__(self) -> PlainDisplay:
        progress = self._progress
        total = (
            "" if progress.total_steps is None else f"  {progress.total_steps:,} {progress.unit}"
        )
        self._print(progress.label + total)
        return self

    def tick(self) -> None:
        progress = self._progress
        is_held_anew = progress.hold not in ("", self._shown_hold)
        is_due = self._clock() >= self._next and progress.step != self._shown_step
        if not is_held_anew and not is_due:
            return
        self._next = self._clock() + PLAIN_INTERVAL_S
        self._shown_step = progress.step
        self._shown_hold = progress.hold
        self._print(progress.line(PLAIN_WIDTH, with_bar=False))

    def note(self, text: str) -> None:
        self._print(text)

    def _print(self, text: str) -> None:
        print(text, file=self._out, flush=True)


class LiveDisplay:
    """One line that is drawn over itself; it is gone when the run has ended."""

    def __init__(self, progress: Progress) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        def draw() -> Text:
            # One column is left free: some terminals wrap a line that fills the last one.
            width = self._console.width - 1
            text = Text(progress.line(width), no_wrap=True, overflow="crop")
            text.highlight_regex("━+", "green")
            text.highlight_regex("─+", "dim")
            return text

        self._console = Console(highlight=False)
        self._live = Live(
            console=self._console,
            get_renderable=draw,
            refresh_per_second=_REFRESHES_A_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> LiveDisplay:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def tick(self) -> None:
        return None  # rich draws from a thread of its own

    def note(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)
