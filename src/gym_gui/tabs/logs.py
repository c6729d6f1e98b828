"""Logs: the end of each stream, followed, searched, and the error in it found."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from pathlib import Path

from nicegui import ui

from gym_gui.run_view import RunView
from gym_gui.tabs.shown import Shown
from mosaic.client.faults import DaemonFault
from mosaic.contracts.errors import MosaicError, NotFound
from mosaic.contracts.paths import RunPaths

STREAMS = {
    "stderr": "algorithm, errors (stderr)",
    "stdout": "algorithm, output (stdout)",
    "worker": "worker",
    "events": "events",
    "proxy": "proxy",
}
_LINES = 1_000
_LONGEST = 2_000  # characters of a line that are shown
_AT_ONCE = 400  # lines a second that reach the page; more than that nobody reads
_RETRY_S = 1.0

_ERROR = re.compile(r"Traceback \(most recent call last\)|\b\w*(Error|Exception)\b|\berror:", re.I)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


def build(view: RunView) -> Shown:
    log = LogView(view)
    return Shown(log.refresh, log.close)


def _telling_stream(paths: RunPaths) -> str:
    """Return the errors where there are any, and otherwise what the algorithm printed."""

    def size(path: Path) -> int:
        return path.stat().st_size if path.is_file() else 0

    return "stdout" if size(paths.stdout_log) and not size(paths.stderr_log) else "stderr"


class LogView:
    """One stream at a time. Lines are text, whatever they hold."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        asked = view.query.get("stream", "")
        self._stream = asked if asked in STREAMS else _telling_stream(RunPaths(view.run_dir))
        self._search = view.query.get("search", "")
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._new: deque[str] = deque(maxlen=_LINES)
        self._rest = b""
        self._task: asyncio.Task[None] | None = None
        with ui.row().classes("w-full items-center gap-4"):
            stream = ui.select(STREAMS, value=self._stream, label="stream").classes("w-64")
            stream.tooltip("What the algorithm printed, or what the processes around it say.")
            search = ui.input("search", value=self._search)
            search.props("dense clearable debounce=300").tooltip("Shows the lines that hold this.")
            self._follows = ui.switch("follow", value=True).tooltip("Show lines as they come.")
            ui.button("Jump to the error", icon="bug_report", on_click=self.jump).props(
                "outline no-caps"
            ).tooltip("The last line that looks like an error.")
        self._status = ui.label().classes("mosaic-muted").props("role=status")
        self._log = ui.log(max_lines=_LINES).classes("w-full mosaic-mono").style("height: 60vh")
        self._log.props('tabindex=0 aria-label="Log"')
        stream.on_value_change(lambda: self._choose(stream.value))
        search.on_value_change(lambda: self._find(search.value or ""))
        self._open()

    def refresh(self) -> None:
        """Show what has come since the last time."""
        if not self._follows.value:
            return
        fresh = [self._new.popleft() for _ in range(min(len(self._new), _AT_ONCE))]
        self._lines.extend(fresh)
        for line in fresh:
            if self._matches(line):
                self._log.push(line or " ", classes="whitespace-pre-wrap break-all")

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def jump(self) -> None:
        """Bring the last line that looks like an error to the middle."""
        labels = [each for each in self._log.default_slot.children if isinstance(each, ui.label)]
        for label in reversed(labels):
            if _ERROR.search(label.text):
                label.style("outline: 2px solid #b91c1c")
                self._follows.set_value(False)
                ui.run_javascript(f"getHtmlElement({label.id}).scrollIntoView({{block: 'center'}})")
                return
        ui.notify("No line here looks like an error.")

    def _open(self) -> None:
        self.close()
        self._lines.clear()
        self._new.clear()
        self._rest = b""
        self._log.clear()
        self._task = asyncio.create_task(self._read(self._stream))

    def _choose(self, stream: str) -> None:
        self._stream = stream
        self._view.remember(stream=stream)
        self._open()

    def _find(self, text: str) -> None:
        self._search = text
        self._view.remember(search=text)
        self._log.clear()
        for line in self._lines:
            if self._matches(line):
                self._log.push(line or " ", classes="whitespace-pre-wrap break-all")

    def _matches(self, line: str) -> bool:
        return self._search.lower() in line.lower()

    async def _read(self, stream: str) -> None:
        """Read to the end of the run; a daemon that went away is asked again when it is back."""
        while True:
            try:
                client = self._view.live.need_client()
                self._take(b"", is_new=True)
                async for data in client.logs(self._view.run_id, stream, lines=_LINES, follow=True):
                    self._take(data)
                    self._status.set_text("" if data or self._lines else "Nothing was written yet.")
                self._take(b"\n" if self._rest else b"")
                nothing = not self._lines and not self._new
                self._status.set_text("Nothing was written." if nothing else "The log is complete.")
                return
            except NotFound as error:
                self._status.set_text(error.one_line())
                return
            except (MosaicError, DaemonFault) as error:
                self._status.set_text(f"Reading stopped: {error}")
            await asyncio.sleep(_RETRY_S)

    def _take(self, data: bytes, *, is_new: bool = False) -> None:
        if is_new:  # from the beginning of what is asked for
            self._rest = b""
            self._new.clear()
            self._lines.clear()
            self._log.clear()
        *whole, self._rest = (self._rest + data).split(b"\n")
        self._new.extend(clean(line) for line in whole)


def clean(line: bytes) -> str:
    """Return a line as text that can be shown: no colours of terminals, and no end of it."""
    text = _ESCAPES.sub("", line.rsplit(b"\r", 1)[-1].decode("utf-8", "replace"))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} … ({len(text):,} characters)"
