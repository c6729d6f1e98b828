"""What was saved by the runs: final policies and checkpoints, found a page of runs at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mosaic.client.asynchronous import AsyncClient
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.saved_states import SavedState, find_policy, find_states
from mosaic.proto import trainer_pb2 as pb

PAGE_SIZE = 50

_EVALUATION = "policy_eval"


@dataclass(frozen=True, slots=True)
class Saved:
    """What one run left: its checkpoints, oldest first, and its policy."""

    run: pb.Run
    run_dir: Path
    states: tuple[SavedState, ...] = ()
    policy: Path | None = None

    @property
    def is_empty(self) -> bool:
        return not self.states and self.policy is None

    @property
    def latest(self) -> SavedState | None:
        """The last exact checkpoint, which a resume takes unless told otherwise."""
        exact = [state for state in self.states if state.is_exact]
        return exact[-1] if exact else None

    def label(self) -> str:
        seed = f", seed {self.run.seed}" if self.run.HasField("seed") else ""
        return f"{self.run.algo} on {self.run.env_id}{seed} ({self.run.run_id[:10]})"


@dataclass(frozen=True, slots=True)
class SavedPage:
    found: tuple[Saved, ...]
    next_token: str


async def saved_page(
    client: AsyncClient, paths: VarPaths, *, text: str = "", token: str = ""
) -> SavedPage:
    """Look through one page of runs, newest first; a run that saved nothing is left out."""
    page = await client.list_runs(text=text, page_token=token, page_size=PAGE_SIZE)
    trained = [run for run in page.runs if run.mode != _EVALUATION]
    found = await asyncio.to_thread(_look, paths, trained)
    return SavedPage(tuple(found), page.next_page_token)


async def saved_by(client: AsyncClient, run_id: str) -> tuple[Saved, pb.RunDetails]:
    """Return what one run left, and the run with its config."""
    details = await client.get_run(run_id)
    directory = Path(details.run_dir)
    return await asyncio.to_thread(_read, details.run, directory), details


def _look(paths: VarPaths, runs: Iterable[pb.Run]) -> list[Saved]:
    found = (_read(run, paths.run(run.run_id, run.mode).root) for run in runs)
    return [each for each in found if not each.is_empty]


def _read(run: pb.Run, run_dir: Path) -> Saved:
    return Saved(run, run_dir, tuple(find_states(run_dir)), find_policy(run_dir))


def saved_at(path: Path) -> float | None:
    """Return when it was written, as a unix time; None once it is gone."""
    try:
        return min(path.stat().st_mtime, time.time())
    except OSError:
        return None
