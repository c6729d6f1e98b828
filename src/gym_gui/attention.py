"""What somebody should look at: what failed, what cannot start, what the daemon warns of."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from gym_gui import formatting
from gym_gui.run_rows import title
from gym_gui.watchdogs import Finding
from mosaic.proto import trainer_pb2 as pb

# What failed longer ago has been seen, or is found in the list of runs.
_FRESH_S = 24 * 3600
_MOST = 8
# A run that waits this long, with resources free or not, may wait for something that never comes.
_LONG_WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Notice:
    """One line: a symbol, what it is, and where to see more."""

    key: str
    icon: str
    text: str
    path: str


def find_notices(
    health: pb.Health | None,
    unfinished: Iterable[pb.Run],
    failed: Sequence[pb.Run],
    now: float | None = None,
    findings: Mapping[str, Sequence[Finding]] | None = None,
) -> list[Notice]:
    """Return what needs attention, the most urgent first. `findings` are those of the watchdogs."""
    at = time.time() if now is None else now
    unfinished = list(unfinished)
    warnings = [] if health is None else health.warnings
    notices = [Notice(f"daemon {text}", "warning", text, "/system") for text in warnings]
    known = findings or {}
    notices += [_found(run, each) for run in unfinished for each in known.get(run.run_id, ())]
    notices += [
        _waiting(run)
        for run in unfinished
        if run.state == "INIT" and run.reason and at - run.created_at > _LONG_WAIT_S
    ]
    notices += [_failed(run, at) for run in failed if run.ended_at and at - run.ended_at < _FRESH_S]
    return notices[:_MOST]


def _found(run: pb.Run, finding: Finding) -> Notice:
    text = f"{title(run)}: {finding.title}. {finding.detail}"
    tab = f"?tab=charts&filter={quote(finding.tag)}" if finding.tag else ""
    return Notice(f"{run.run_id} {finding.kind}", "warning", text, f"/runs/{run.run_id}{tab}")


def _waiting(run: pb.Run) -> Notice:
    text = f"{title(run)} waits: {run.reason}"
    return Notice(f"{run.run_id} {run.reason}", "schedule", text, f"/runs/{run.run_id}")


def _failed(run: pb.Run, now: float) -> Notice:
    verb = "was lost" if run.state == "FAULTED" else "failed"
    why = f": {run.reason}" if run.reason else ""
    text = f"{title(run)} {verb} {formatting.age(run.ended_at, now)}{why}"
    return Notice(f"{run.run_id} failed", "error", text, f"/runs/{run.run_id}")
