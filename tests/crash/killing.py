"""Kill real runs with SIGKILL where they stand, and go on from their last exact checkpoint.

A moment is a share of the run's steps, watched in its metrics.jsonl, so that a slow machine is
killed where a fast one is. Kills take turns: first the worker, then the algorithm's process.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from cleanrl_worker.checkpoint_document import find_checkpoints, read_document
from mosaic.contracts.metrics import find_metric
from mosaic.contracts.paths import RunPaths, VarPaths

SOURCE = str(Path(__file__).parents[2] / "src")
POLL_S = 0.02
PATIENCE_S = 600.0

Point = tuple[int, str, float]


@dataclass(frozen=True)
class Trial:
    """A training to be killed."""

    algo: str
    env_id: str
    total_timesteps: int
    checkpoint_interval: int
    algo_params: dict[str, Any] = field(default_factory=dict)
    seed: int = 7


@dataclass(frozen=True)
class Outcome:
    """What a training came to: all that has to be the same whether it was killed or not."""

    points: list[Point]
    model: bytes
    state: bytes  # the tensors of the last checkpoint: weights, optimiser, normaliser
    skeleton: Any  # the rest of its state: random states, counters
    kills: tuple[int, ...] = ()  # steps last seen before each kill


def seeded_moments(seed: int, count: int) -> list[float]:
    """Return shares of a run, in order; the rest is left for the kill to be in time."""
    generator = random.Random(seed)
    return sorted(generator.uniform(0.02, 0.85) for _ in range(count))


def run_whole(trial: Trial, directory: Path) -> Outcome:
    """Train without a kill."""
    run = _Run(trial, directory, "whole", None)
    run.wait()
    return _outcome([run])


def run_killed(trial: Trial, directory: Path, moments: Sequence[float]) -> Outcome:
    """Train, kill at each moment, and each time go on from the last exact checkpoint."""
    chain: list[_Run] = []
    kills: list[int] = []
    for number, moment in enumerate(moments):
        run = _Run(trial, directory, f"part-{number}", _last_cut(chain))
        kills.append(run.kill_at(int(moment * trial.total_timesteps), only_child=number % 2 == 1))
        chain.append(run)
    last = _Run(trial, directory, "last", _last_cut(chain))
    last.wait()
    return _outcome([*_lineage(chain, last.origin), last], tuple(kills))


def rerun_the_end(trial: Trial, directory: Path) -> bytes:
    """Go on from the end of a whole run, as one does that was killed before it saved its model."""
    paths = VarPaths(directory / "var").run("whole")
    run = _Run(trial, directory, "again", find_checkpoints(paths.checkpoints)[-1])
    run.wait()
    return _model(run)


class _Run:
    """One process of the worker."""

    def __init__(self, trial: Trial, directory: Path, run_id: str, origin: Path | None) -> None:
        self.trial = trial
        self.origin = origin
        self.paths: RunPaths = VarPaths(directory / "var").run(run_id)
        directory.mkdir(parents=True, exist_ok=True)
        config = directory / f"{run_id}.json"
        config.write_text(json.dumps(self._config(run_id, directory)))
        self._said = directory / f"{run_id}.stderr"
        environment = {**os.environ, "PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"}
        environment.pop("MOSAIC_VAR_DIR", None)
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "cleanrl_worker.cli", "--config", config.name],
                cwd=directory,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=said,
            )

    def _config(self, run_id: str, directory: Path) -> dict[str, Any]:
        trial = self.trial
        config: dict[str, Any] = {
            "run_id": run_id,
            "algo": trial.algo,
            "env_id": trial.env_id,
            "total_timesteps": trial.total_timesteps,
            "seed": trial.seed,
        }
        extras: dict[str, Any] = {
            "checkpoint_interval": trial.checkpoint_interval,
            "algo_params": trial.algo_params,
        }
        if self.origin is not None:
            # Everything but the total comes from the checkpoint.
            config["seed"] = None
            path = self.origin.relative_to(directory).as_posix()
            extras = {"mode": "resume_training", "checkpoint_path": path}
        return {**config, "extras": {**extras, "tensorboard_dir": None}}

    def wait(self) -> None:
        code = self._process.wait(PATIENCE_S)
        assert code == 0, self._said.read_text()

    def kill_at(self, step: int, *, only_child: bool) -> int:
        """Kill once the run has come to this step; return the step that was seen."""
        deadline = time.monotonic() + PATIENCE_S
        seen = self.steps()
        while seen < step:
            assert self._process.poll() is None, f"ended before step {step}: {self._said}"
            assert time.monotonic() < deadline, f"step {step} was not reached in {PATIENCE_S} s"
            time.sleep(POLL_S)
            seen = self.steps()
        processes = psutil.Process(self._process.pid).children(recursive=True)
        if only_child:
            processes[0].kill()
        else:
            self._process.kill()
        self._process.wait(60)
        _, alive = psutil.wait_procs(processes, timeout=10)
        assert not alive, "what a worker started ends with it"
        return seen

    def steps(self) -> int:
        return max((step for step, tag, _ in self.points() if _is_by_step(tag)), default=0)

    def points(self) -> Iterator[Point]:
        """Yield all points that do not depend on the machine's speed."""
        if not self.paths.metrics.exists():
            return
        for line in self.paths.metrics.read_text().splitlines():
            try:
                row = json.loads(line)
            except ValueError:  # cut off by the kill
                return
            for tag, value in row["values"].items():
                metric = find_metric(tag)
                assert metric is not None, tag
                if not metric.wall_clock:
                    yield row["step"], tag, value


def _is_by_step(tag: str) -> bool:
    metric = find_metric(tag)
    return metric is not None and metric.axis == "step"


def _last_cut(chain: Sequence[_Run]) -> Path | None:
    """Return the newest exact checkpoint; a run killed before its first has its parent's."""
    for run in reversed(chain):
        for path in reversed(find_checkpoints(run.paths.checkpoints)):
            if read_document(path)["exact"]:
                return path
        if run.origin is not None:
            return run.origin
    return None


def _lineage(chain: Sequence[_Run], origin: Path | None) -> list[_Run]:
    """Return the runs that led to a checkpoint, oldest first."""
    found: list[_Run] = []
    while origin is not None:
        (run,) = (run for run in chain if origin.is_relative_to(run.paths.root))
        found.insert(0, run)
        origin = run.origin
    return found


def _outcome(lineage: Sequence[_Run], kills: tuple[int, ...] = ()) -> Outcome:
    """Join the series: what a run logged past the cut that its child went on from is dropped."""
    points: list[Point] = []
    for run, child in itertools.pairwise(lineage):
        assert child.origin is not None
        cut = read_document(child.origin)["step"]
        points += [point for point in run.points() if point[0] <= cut and _is_by_step(point[1])]
    last = lineage[-1]
    points += last.points()
    end = find_checkpoints(last.paths.checkpoints)[-1]
    return Outcome(
        points,
        _model(last),
        (end / "state.safetensors").read_bytes(),
        read_document(end)["state"],
        kills,
    )


def _model(run: _Run) -> bytes:
    (path,) = run.paths.models.glob("*/*.cleanrl_model")
    return path.read_bytes()
