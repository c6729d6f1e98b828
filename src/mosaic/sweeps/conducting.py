"""One trial: its runs submitted, watched, judged after every tenth, and ended if hopeless."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mosaic.contracts.errors import ConfigError, MosaicError, NotFound
from mosaic.contracts.metrics import find_metric
from mosaic.contracts.paths import SweepPaths
from mosaic.contracts.train_request import train_documents, train_request
from mosaic.contracts.worker_config import extract_worker_config
from mosaic.sweeps.asking import PARTS, suggest
from mosaic.sweeps.daemon import PatientDaemon, has_ended, have_all_ended
from mosaic.sweeps.request import SweepRequest
from mosaic.workers.discovery import CatalogueEntry

if TYPE_CHECKING:
    import optuna

    from mosaic.proto.trainer_pb2 import Run

POLL_S = 1.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a trial ended: `state` is Optuna's word for it."""

    state: str
    value: float | None = None
    reason: str = ""


class Conductor:
    """Carries trials out, each in the thread that calls."""

    def __init__(
        self,
        request: SweepRequest,
        paths: SweepPaths,
        entry: CatalogueEntry,
        daemon: PatientDaemon,
        stop: threading.Event,
        say: Callable[[str], None],
    ) -> None:
        self._request = request
        self._paths = paths
        self._entry = entry
        self._daemon = daemon
        self._stop = stop
        self._say = say

    def conduct(self, trial: optuna.Trial) -> Verdict:
        """Begin a trial, and see it through."""
        values = suggest(trial, self._request.space, self._entry.algorithm)
        try:
            documents = self._documents(trial.number, values)
            run_ids = [self._daemon.submit(document) for document in documents]
        except MosaicError as error:
            return Verdict("FAIL", reason=error.one_line())
        trial.set_user_attr("run_ids", run_ids)
        self._say(f"trial {trial.number}: {', '.join(run_ids)}: {_shown(values)}")
        return self.follow(trial, run_ids, _budget(documents[0]))

    def _documents(self, number: int, values: dict[str, Any]) -> list[dict[str, Any]]:
        request = self._request
        name = f"{request.study}-{number}"
        given = {
            "fastlane_video_mode": "off",  # nobody watches a hundred trials
            **request.given,
            **values,
            "seeds": ",".join(map(str, request.seeds)),
            "run_name": name,
            "idempotency_key": f"sweep-{name}",
            "optuna_db": str(self._paths.database),
        }
        asked = train_request(self._entry.algorithm, given)
        return train_documents(asked, self._entry.worker)

    def follow(self, trial: optuna.Trial, run_ids: list[str], budget: int) -> Verdict:
        """Watch the runs of a trial until they have ended, or are ended."""
        judge = _Judge(self._request.objective, self._daemon, budget)
        part = 1
        while True:
            try:
                runs = [self._daemon.run(run_id) for run_id in run_ids]
            except NotFound as error:
                return Verdict("FAIL", reason=error.one_line())
            while judge.is_by_step and part <= PARTS and judge.has_passed(runs, part):
                value = judge.part(run_ids, part)
                if value is not None:
                    trial.report(value, part)
                    if not have_all_ended(runs) and trial.should_prune():
                        return self._prune(run_ids, judge, part, value)
                part += 1
            if have_all_ended(runs):
                return _verdict(runs, judge.final(run_ids))
            if self._stop.wait(POLL_S):
                self._end(run_ids)
                return Verdict("FAIL", reason="the sweep was stopped")

    def _prune(self, run_ids: list[str], judge: _Judge, part: int, value: float) -> Verdict:
        runs = self._end(run_ids)
        if all(run.outcome == "succeeded" for run in runs):  # they were faster
            return _verdict(runs, judge.final(run_ids))
        return Verdict("PRUNED", reason=f"pruned after {part} of {PARTS} parts, at {value:.4g}")

    def _end(self, run_ids: list[str]) -> list[Run]:
        """Cancel the runs, and return them once every process of them is gone."""
        for run_id in run_ids:
            with contextlib.suppress(ConfigError, NotFound):  # it has ended by itself
                self._daemon.cancel(run_id)
        while True:
            runs = [self._daemon.run(run_id) for run_id in run_ids]
            if have_all_ended(runs):
                return runs
            time.sleep(POLL_S / 4)


class _Judge:
    """The objective of a trial: over its last part, as the mean of its seeds."""

    def __init__(self, objective: str, daemon: PatientDaemon, budget: int) -> None:
        metric = find_metric(objective)
        self.is_by_step = metric is None or metric.axis == "step"
        self._tag = objective
        self._daemon = daemon
        self._budget = budget

    def has_passed(self, runs: list[Run], part: int) -> bool:
        edge = self._budget * part // PARTS
        return all(run.step >= edge or has_ended(run) for run in runs)

    def part(self, run_ids: list[str], part: int) -> float | None:
        """Return the mean over one part of the steps; None where a seed has no value there."""
        low, high = self._budget * (part - 1) // PARTS + 1, self._budget * part // PARTS
        return _mean([self._daemon.mean(run_id, self._tag, low, high) for run_id in run_ids])

    def final(self, run_ids: list[str]) -> float | None:
        if not self.is_by_step:
            return _mean([self._daemon.mean(each, self._tag, None, None) for each in run_ids])
        # An episode that is longer than a part leaves the last one without a value.
        values = (self.part(run_ids, part) for part in range(PARTS, 0, -1))
        return next((value for value in values if value is not None), None)


def _verdict(runs: list[Run], value: float | None) -> Verdict:
    bad = [run for run in runs if run.outcome != "succeeded"]
    if bad:
        return Verdict("FAIL", reason=f"run {bad[0].run_id} {bad[0].outcome}: {bad[0].reason}")
    if value is None:
        return Verdict("FAIL", reason="its runs have no value of the objective")
    return Verdict("COMPLETE", value)


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def _budget(document: dict[str, Any]) -> int:
    return int(extract_worker_config(document)["total_timesteps"])


def _shown(values: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in values.items()
    )
