"""The daemon as a sweep needs it: away for a while, and then asked again."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mosaic.client.connecting import connect
from mosaic.contracts.errors import DaemonUnreachable
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.states import is_terminal, read_state
from mosaic.contracts.submitting import environment_secrets

if TYPE_CHECKING:
    from mosaic.client.blocking import Client
    from mosaic.proto.trainer_pb2 import Run

T = TypeVar("T")

_RETRY_S = 1.0
_MOST_POINTS = 20_000


class PatientDaemon:
    """Calls that may be repeated, made until the daemon answers. Threads may share it."""

    def __init__(self, paths: VarPaths) -> None:
        self._paths = paths
        self._lock = threading.Lock()
        self._client = connect(paths)

    def close(self) -> None:
        self._client.close()

    def submit(self, document: dict[str, Any]) -> str:
        """Submit a run; its idempotency key makes a repetition the same run."""
        answer = self._call(lambda client: client.submit(document, secrets=environment_secrets()))
        return answer.run.run_id

    def run(self, run_id: str) -> Run:
        return self._call(lambda client: client.get_run(run_id)).run

    def cancel(self, run_id: str) -> None:
        self._call(lambda client: client.cancel(run_id))

    def mean(self, run_id: str, tag: str, low: int | None, high: int | None) -> float | None:
        """Return the mean of a metric between two steps; None where it has no value there."""
        options: dict[str, Any] = {"max_points": _MOST_POINTS}
        options |= {} if low is None else {"from_step": low}
        options |= {} if high is None else {"to_step": high}
        updates = self._call(lambda client: list(client.metrics(run_id, [tag], **options)))
        pairs = [
            (value, count)
            for update in updates
            for series in update.series
            for value, count in zip(series.mean, series.count, strict=True)
            if math.isfinite(value)
        ]
        weight = sum(count for _, count in pairs)
        return sum(value * count for value, count in pairs) / weight if weight else None

    def _call(self, make: Callable[[Client], T]) -> T:
        while True:
            client = self._client
            try:
                return make(client)
            except DaemonUnreachable:
                time.sleep(_RETRY_S)
                self._connect_again(client)

    def _connect_again(self, broken: Client) -> None:
        with self._lock:
            if self._client is not broken:
                return
            try:
                # One that was stopped on purpose took its daemon.json away, and stays stopped.
                self._client = connect(self._paths, start=self._paths.daemon_info.exists())
            except DaemonUnreachable:
                return
            broken.close()


def has_ended(run: Run) -> bool:
    return is_terminal(read_state(run.state))


def have_all_ended(runs: Sequence[Run]) -> bool:
    return all(has_ended(run) for run in runs)
