"""Follow one run of the daemon's to its end, as a local one is followed."""

from __future__ import annotations

import contextlib
import math
import queue
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from mosaic.cli.displays import Display
from mosaic.cli.local_run import STATUS_OF_EVENT, LocalRun, without_name
from mosaic.cli.progress import EVALUATION_TAG, RECENT_EPISODES, RETURN_TAG, Progress
from mosaic.cli.run_view import has_ended, label
from mosaic.cli.steady import SteadyClient
from mosaic.client.faults import DaemonFault
from mosaic.contracts.errors import EXIT_FAILED, EXIT_OK, EXIT_TERMINATED, MosaicError, NotFound
from mosaic.contracts.events import Event
from mosaic.contracts.states import Outcome, RunState, read_state

if TYPE_CHECKING:
    from mosaic.client.blocking import Client
    from mosaic.proto.trainer_pb2 import MetricsUpdate, Run, RunDetails

_TICK_S = 0.2
_NARROWINGS = 5

EVALUATION_MODE = "policy_eval"

_STATUS_OF_OUTCOME = {
    Outcome.SUCCEEDED.value: "completed",
    Outcome.CANCELLED.value: "cancelled",
    Outcome.FAILED.value: "failed",
}


def progress_of(run: Run, episodes: int | None = None) -> Progress:
    """Return the progress of a run; `episodes` is the budget of an evaluation."""
    if run.mode == EVALUATION_MODE:
        return Progress(f"{label(run)}, evaluation", episodes, unit="episodes")
    return Progress(label(run), run.total_timesteps or None)


class Follower:
    """Two streams of the daemon's, read by a thread each and handled by the main thread."""

    def __init__(
        self, steady: SteadyClient, run: Run, progress: Progress, display: Display
    ) -> None:
        self._steady = steady
        self._run = run
        self._progress = progress
        self._display = display
        self._arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._notes_shown = 0
        self._tag = EVALUATION_TAG if run.mode == EVALUATION_MODE else RETURN_TAG

    def follow(self) -> RunDetails:
        """Return the run as it ended."""
        run_id = self._run.run_id
        self._read(lambda client: client.watch_runs([run_id]))
        tags = (RETURN_TAG, EVALUATION_TAG)
        self._read(lambda client: client.metrics(run_id, tags, follow=True))
        while not has_ended(self._run):
            with contextlib.suppress(queue.Empty):
                self._take(self._arrived.get(timeout=_TICK_S))
            self._display.tick()
        details = self._steady.call(lambda client: client.get_run(run_id, with_events=True))
        self._progress.advance(details.run.step)
        if self._tag == RETURN_TAG:
            self._take_last_returns(details.run)
        if details.run.outcome != Outcome.FAILED:  # a failure is told as a whole, at the end
            self._show_notes()
        return details

    def _take_last_returns(self, run: Run) -> None:
        """Take the returns from the store, which has all of them, however late we came."""
        returns = self._steady.call(lambda client: _last_returns(client, run))
        if returns:
            self._progress.returns.clear()
            self._progress.add_returns(returns)

    def _advance(self, step: int) -> None:
        if self._progress.step == 0 < step:
            self._show_notes()  # it trains, so what the worker said before was no refusal
        self._progress.advance(step)

    def _show_notes(self) -> None:
        """Show what the worker said on stderr since the last time."""
        run_id = self._run.run_id
        chunks = self._steady.call(lambda client: list(client.logs(run_id, "worker", lines=1000)))
        notes = b"".join(chunks).decode("utf-8", errors="replace").splitlines()
        for note in notes[self._notes_shown :]:
            self._display.note(without_name(note))
        self._notes_shown = len(notes)

    def _read(self, open_stream: Callable[[Client], Iterator[Any]]) -> None:
        def pump() -> None:
            try:
                for message in self._steady.stream(open_stream):
                    self._arrived.put(message)
            except (MosaicError, DaemonFault) as error:
                self._arrived.put(error)

        threading.Thread(target=pump, daemon=True).start()

    def _take(self, arrived: Any) -> None:
        if isinstance(arrived, Exception):
            raise arrived
        if hasattr(arrived, "series"):
            self._take_metrics(arrived)
        elif arrived.is_removed:
            raise NotFound(f"The run {self._run.run_id} was removed.")
        elif arrived.HasField("run"):
            self._take_run(arrived.run)

    def _take_run(self, run: Run) -> None:
        self._run = run
        self._advance(run.step)
        if has_ended(run):
            return
        progress = self._progress
        progress.waiting = run.reason or "starting"
        state = read_state(run.state)
        progress.standstill = "paused" if state is RunState.PAUSED else ""
        if run.is_cancelling:
            progress.standstill = progress.waiting = "cancelling"

    def _take_metrics(self, update: MetricsUpdate) -> None:
        for series in update.series:
            if series.tag == self._tag:
                self._progress.add_returns(series.mean[-RECENT_EPISODES:])
            elif series.mean:
                self._progress.is_evaluating = True
            if series.tag == self._tag == EVALUATION_TAG and series.last_step:
                self._advance(series.last_step[-1] + 1)  # episodes are counted from 0


def _last_returns(client: Client, run: Run) -> list[float]:
    """Return the returns of the last episodes, from a span short enough for single points."""
    from_step = 0
    means: list[float] = []
    for _ in range(_NARROWINGS):
        for update in client.metrics(run.run_id, [RETURN_TAG], from_step=from_step):
            for series in update.series:
                means = [value for value in series.mean if math.isfinite(value)]
                if series.points_per_bucket <= 1:
                    return means[-RECENT_EPISODES:]
        from_step = run.step - (run.step - from_step) // 10
    return means[-RECENT_EPISODES:]


def ended_run(details: RunDetails) -> LocalRun:
    """Return how the run ended, in the words of a local one."""
    run = details.run
    status = _STATUS_OF_OUTCOME.get(run.outcome, "failed")
    ends = [event for event in map(_end, details.event_lines) if event is not None]
    end = ends[-1] if ends and STATUS_OF_EVENT[ends[-1].event] == status else None
    began = run.started_at if run.HasField("started_at") else run.created_at
    return LocalRun(
        return_code=_return_code(run, status),
        duration_s=max(0.0, run.ended_at - began),
        end=end,
        stderr=list(details.last_lines),
        outcome=status,
        reason=run.reason,
    )


def _return_code(run: Run, status: str) -> int:
    if status == "completed":
        return EXIT_OK
    if run.HasField("signal"):
        return 128 + run.signal
    if run.HasField("exit_code") and run.exit_code != EXIT_OK:
        return run.exit_code
    return EXIT_TERMINATED if status == "cancelled" else EXIT_FAILED


def _end(line: str) -> Event | None:
    try:
        event = Event.from_line(line)
    except ValueError:
        return None
    return event if event.event in STATUS_OF_EVENT else None
