"""Run a worker here: start it, read its events, pass signals on, wait for its end."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Any

from mosaic.cli.displays import Display
from mosaic.cli.progress import Progress
from mosaic.contracts.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_TERMINATED
from mosaic.contracts.events import STDERR_TAIL_LINES, Event

_TICK_S = 0.2
# A process that outlives its worker may hold the pipe open; its words are not waited for.
_LAST_WORDS_S = 2.0

STATUS_OF_EVENT = {
    "run_completed": "completed",
    "run_failed": "failed",
    "run_cancelled": "cancelled",
}


@dataclass(slots=True)
class LocalRun:
    """A worker's run as its process told it, or as the daemon did."""

    return_code: int = EXIT_OK
    duration_s: float = 0.0
    end: Event | None = None
    stderr: list[str] = field(default_factory=list)
    outcome: str = ""  # the daemon's word, which stands
    reason: str = ""

    @property
    def status(self) -> str:
        if self.outcome:
            return self.outcome
        if self.end is not None:
            return STATUS_OF_EVENT[self.end.event]
        if self.return_code in (EXIT_INTERRUPTED, EXIT_TERMINATED):
            return "cancelled"
        return "completed" if self.return_code == EXIT_OK else "failed"

    @property
    def last_words(self) -> str:
        return without_name(self.stderr[-1]) if self.stderr else describe_exit(self.return_code)

    @property
    def payload(self) -> Mapping[str, Any]:
        return self.end.payload if self.end is not None else {}


def without_name(line: str) -> str:
    """Return the line without the name that the worker puts in front of it."""
    return re.sub(r"^[\w-]+-worker: ", "", line)


def describe_exit(code: int) -> str:
    """Say how a process ended that told nothing itself."""
    if code > 128:
        with contextlib.suppress(ValueError):
            return f"The worker was killed by {signal.Signals(code - 128).name}."
    return f"The worker ended with exit code {code} and said nothing."


def worker_command(module: str, config: Path, *switches: str) -> list[str]:
    return [sys.executable, "-m", module, "--config", str(config), *switches]


def run_worker(
    command: list[str], environment: Mapping[str, str], progress: Progress, display: Display
) -> LocalRun:
    """Run the command to its end, and draw its progress."""
    started = time.monotonic()
    run = LocalRun()
    # A session of its own: Ctrl-C reaches the worker once, from us, not a second time from the
    # terminal.
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    reader = _Reader(process, run, progress, display)
    with process, _stopped_on_error(process), _signals_passed_on(process, reader):
        reader.read()
        run.return_code = exit_code(process.wait())
        if run.status != "failed":  # a failure is told as a whole, at the end
            reader.show_notes()
    run.duration_s = time.monotonic() - started
    return run


def exit_code(returncode: int) -> int:
    """Return the exit code of a process; Popen's is negative for a signal."""
    return 128 - returncode if returncode < 0 else returncode


class _Reader:
    """Both streams of the worker, read by a thread each and handled by the main thread."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        run: LocalRun,
        progress: Progress,
        display: Display,
    ) -> None:
        self._process = process
        self._run = run
        self._progress = progress
        self._display = display
        self._notes: list[str] = []
        self._take: dict[str, Callable[[str], None]] = {
            "stdout": self._take_event,
            "stderr": self._take_stderr,
            "note": display.note,
        }
        self._lines: queue.SimpleQueue[tuple[str, str | None]] = queue.SimpleQueue()

    def read(self) -> None:
        streams = {"stdout": self._process.stdout, "stderr": self._process.stderr}
        for name, stream in streams.items():
            assert stream is not None
            threading.Thread(target=self._pump, args=(name, stream), daemon=True).start()
        open_streams = set(streams)
        ended_at: float | None = None
        while open_streams:
            with contextlib.suppress(queue.Empty):
                name, line = self._lines.get(timeout=_TICK_S)
                if line is None:
                    open_streams.discard(name)
                else:
                    self._take[name](line)
            self._display.tick()
            if ended_at is None and self._process.poll() is not None:
                ended_at = time.monotonic()
            if ended_at is not None and time.monotonic() - ended_at > _LAST_WORDS_S:
                return

    def say(self, text: str) -> None:
        """Have a line shown; safe in a signal handler, where printing is not."""
        self._lines.put(("note", text))

    def _pump(self, name: str, stream: IO[bytes]) -> None:
        for line in stream:
            self._lines.put((name, line.decode("utf-8", errors="replace").rstrip("\r\n")))
        self._lines.put((name, None))

    def _take_event(self, line: str) -> None:
        try:
            event = Event.from_line(line)
        except ValueError:
            self._display.note(line)  # not ours; shown, so that nothing is swallowed
            return
        self._progress.update(event)
        if event.event == "metric":
            self.show_notes()  # it trains, so what the worker said before was no refusal
        if event.event in STATUS_OF_EVENT:
            self._run.end = event

    def _take_stderr(self, line: str) -> None:
        self._notes.append(without_name(line))
        self._run.stderr.append(line)
        del self._run.stderr[:-STDERR_TAIL_LINES]

    def show_notes(self) -> None:
        """Show what the worker said on stderr."""
        for note in self._notes:
            self._display.note(note)
        self._notes.clear()


@contextlib.contextmanager
def _stopped_on_error(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Stop the run when its progress cannot be shown any more, rather than wait for it unseen."""
    try:
        yield
    except BaseException:
        _send(process, signal.SIGTERM)
        raise


@contextlib.contextmanager
def _signals_passed_on(process: subprocess.Popen[bytes], reader: _Reader) -> Iterator[None]:
    """Pass Ctrl-C on once and kill at the second; a closed terminal or SIGTERM stops the run."""
    interrupts = 0

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupts
        interrupts += 1
        if interrupts == 1:
            reader.say("Stopping. Press Ctrl-C again to kill the run.")
            _send(process, signal.SIGINT)
        else:
            _kill_group(process)

    def terminate(number: int, frame: FrameType | None) -> None:
        _send(process, signal.SIGTERM)

    handlers = {signal.SIGINT: interrupt, signal.SIGTERM: terminate, signal.SIGHUP: terminate}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _send(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(number)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
