"""The pipe from the algorithm process to its worker: one JSON message a line.

The worker opens the pipe, passes its write end on as a file descriptor, and names the number in
`MOSAIC_EVENT_FD`. A process started without a worker has no channel, and sends nothing.

Messages, by `kind`:

- `rejected`: `code, message`. The config cannot be run; nothing was trained. Last message.
- `summary`: the dry run's findings. Last message.
- `prepared`: `device, backend, warnings`. Environments and agent stand; training begins.
- `metric`: `step, values{tag: value}`.
- `checkpoint_saved`, `checkpoint_loaded`, `stage_changed`: the payload of the event of that name.
- `note`: `text`. Something that its user should know, and that changes nothing.
- `model_saved`: `path`, relative to the run directory.
- `evaluation_batch`: the numbers of a batch of evaluation episodes, which are on disk by then.
- `finished`: `status` ("completed" or "stopped"), `steps`, `steps_per_second`. Last message.
"""

from __future__ import annotations

import json
import os
import threading
import time
import weakref
from typing import Any

from mosaic.contracts.events import finite

EVENT_FD_VARIABLE = "MOSAIC_EVENT_FD"

# Metrics are sent together this often: waking the worker for each took 3 % of a fast training.
METRIC_INTERVAL_S = 0.1

# While an update is computed nobody has a lap to send them at: a thread looks this often.
SILENCE_S = 0.5

KINDS = (
    "rejected",
    "summary",
    "prepared",
    "metric",
    "checkpoint_saved",
    "checkpoint_loaded",
    "stage_changed",
    "note",
    "model_saved",
    "evaluation_batch",
    "finished",
)


class Channel:
    """The algorithm's end. Messages arrive whole, and in the order in which they were sent.

    Any thread may send. A process that was forked from this one may not: it has a copy of what
    waits, and none of the thread that looks for it.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._pending = bytearray()
        self._due_s = 0.0
        self._lock = threading.Lock()  # of the pending bytes, until they are written
        self._watch: threading.Thread | None = None

    @classmethod
    def from_environment(cls) -> Channel:
        """Take the descriptor over; processes that this one starts do not inherit it."""
        number = os.environ.pop(EVENT_FD_VARIABLE, None)
        if number is None:
            return cls(None)
        os.set_inheritable(int(number), False)
        return cls(int(number))

    @property
    def is_open(self) -> bool:
        return self._descriptor is not None

    def send(self, kind: str, **fields: Any) -> None:
        """Send a message; a metric may wait for the next one, a lap or the thread that looks."""
        assert kind in KINDS, kind
        if self._descriptor is None:
            return
        message = json.dumps(finite({"kind": kind, **fields}), separators=(",", ":"))
        with self._lock:
            self._pending += message.encode() + b"\n"
        if kind == "metric":
            self.flush_due(time.perf_counter())
            if self._watch is None and self._pending:
                self._start_watch()
        else:
            self.flush()

    def flush_due(self, now: float) -> None:
        """Send the metrics that wait, if the last were sent long enough ago (`perf_counter`).

        Called with every lap: it takes no lock where there is nothing to send.
        """
        if self._pending and now >= self._due_s:
            self.flush()
            self._due_s = now + METRIC_INTERVAL_S

    def flush(self) -> None:
        with self._lock:
            while self._pending:
                assert self._descriptor is not None
                del self._pending[: os.write(self._descriptor, self._pending)]

    def _start_watch(self) -> None:
        self._watch = threading.Thread(
            target=_flush_what_waits, args=(weakref.ref(self),), name="channel", daemon=True
        )
        self._watch.start()


def _flush_what_waits(reference: weakref.ref[Channel]) -> None:
    """Send the metrics that nobody sends, for as long as there is the channel."""
    while (channel := reference()) is not None:
        try:
            channel.flush_due(time.perf_counter())
        except OSError:  # the worker is gone: whoever sends next is told
            return
        del channel
        time.sleep(SILENCE_S)
