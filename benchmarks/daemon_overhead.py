"""How fast training is under the daemon, as a share of its speed alone.

    python benchmarks/daemon_overhead.py [--pairs 12] [--window 2] [--starts 4]

Two trainings with the same settings and seed live at once, one submitted to the daemon, one the
algorithm's process alone. They take turns: while one runs, the other is stopped (SIGSTOP). The
daemon and the proxy run all the time, as they do in use. Steps are counted by the environment.
Two processes of one program differ by some per cent for as long as they live, by where their
memory lies: so both are started anew several times. `--control` starts a second process alone in
place of the daemon's, and shows what that is worth.
Printed: the ratio of the steps of neighbouring windows, its median for each start and for all, the
latter with a 95 % interval by bootstrap; and the memory of daemon, proxy and worker.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
SITE = Path(__file__).resolve().parent / "site"
sys.path[:0] = [str(ROOT)]

from tests.trainer.daemons import Daemon, running  # noqa: E402

from mosaic.proto import trainer_pb2 as pb  # noqa: E402 - needs the path above

ENV_ID = "counting_env:Counting-v0"
STEPS = 100_000_000
LIMIT = 0.98
MEMORY_LIMIT_MB = 80


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=12, help="of windows, for each start")
    parser.add_argument("--window", type=float, default=2.0, help="seconds of a turn")
    parser.add_argument("--starts", type=int, default=4, help="how often both are started anew")
    parser.add_argument("--control", action="store_true", help="compare two that are alone")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        counts = Path(directory) / "counts"
        counts.mkdir()
        os.environ |= {
            "PYTHONPATH": os.pathsep.join(filter(None, [str(SITE), os.environ.get("PYTHONPATH")])),
            "MOSAIC_BENCH_COUNTS": str(counts),
            "OMP_NUM_THREADS": "1",
        }
        with running(Path(directory) / "var") as daemon:
            with daemon.paths.settings.open("a") as settings:
                settings.write('[allow]\nenv_modules = ["counting_env"]\n')
            ratios: list[list[float]] = []
            memory: dict[str, float] = {}
            for number in range(given.starts):
                pair = Pair(daemon, Path(directory), counts, is_control=given.control)
                with pair.started(is_managed_first=bool(number % 2)):
                    ratios.append(pair.take_turns(given.pairs, given.window))
                    memory |= {} if given.control else memory_of(daemon, pair.managed)
    return report(ratios, memory, given.window)


class Pair:
    """A training that the daemon has, and one alone, of which one at a time goes on."""

    def __init__(self, daemon: Daemon, directory: Path, counts: Path, *, is_control: bool) -> None:
        self._daemon, self._directory, self._counts = daemon, directory, counts
        self._is_control = is_control
        self.managed: list[psutil.Process] = []
        self.alone: list[psutil.Process] = []

    @contextlib.contextmanager
    def started(self, *, is_managed_first: bool) -> Iterator[None]:
        """Start one after the other, alternately the one and the other first."""
        try:
            for is_managed in (is_managed_first, not is_managed_first):
                if is_managed:
                    self.managed = self._alone() if self._is_control else self._managed()
                    _set(self.managed, is_running=False)
                else:
                    self.alone = self._alone()
                    _set(self.alone, is_running=False)
            yield
        finally:
            for process in (*self.managed, *self.alone):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()

    def _alone(self) -> list[psutil.Process]:
        process = start_alone(self._directory, self._daemon.paths.root)
        _wait_for(lambda: (self._counts / str(process.pid)).exists())
        return [psutil.Process(process.pid)]

    def _managed(self) -> list[psutil.Process]:
        return start_managed(self._daemon, self._counts)

    def take_turns(self, pairs: int, window_s: float) -> list[float]:
        def steps_of(mine: list[psutil.Process], other: list[psutil.Process]) -> int:
            _set(other, is_running=False)
            _set(mine, is_running=True)
            return steps_in(self._counts / str(mine[-1].pid), window_s)

        ratios = []
        for number in range(pairs + 2):
            # Alternately the one and the other first: a drift of the machine hits both alike.
            if number % 2:
                managed = steps_of(self.managed, self.alone)
                alone = steps_of(self.alone, self.managed)
            else:
                alone = steps_of(self.alone, self.managed)
                managed = steps_of(self.managed, self.alone)
            if number >= 2:  # both have warmed up
                ratios.append(managed / alone)
        return ratios


def _set(processes: list[psutil.Process], *, is_running: bool) -> None:
    """Let processes go on, parents first, or stop them, children first."""
    for process in processes if is_running else reversed(processes):
        process.resume() if is_running else process.suspend()


def start_alone(directory: Path, var: Path) -> subprocess.Popen[bytes]:
    flags = ["--env-id", ENV_ID, "--total-timesteps", str(STEPS), "--seed", "1"]
    command = [sys.executable, "-m", "cleanrl_worker.launcher", "ppo", *flags]
    return subprocess.Popen(
        command,
        cwd=directory,
        env={**os.environ, "MOSAIC_VAR_DIR": str(var)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def start_managed(daemon: Daemon, counts: Path) -> list[psutil.Process]:
    """Submit the run, and return its processes: the worker, then the algorithm."""
    before = set(counts.iterdir())
    config = {"algo": "ppo", "env_id": ENV_ID, "total_timesteps": STEPS, "seed": 1}
    document = {"metadata": {"worker": {"module": "cleanrl_worker.cli", "config": config}}}
    request = pb.SubmitRunRequest(config_json=json.dumps(document))
    run_id = daemon.call("SubmitRun", request).run.run_id
    _wait_for(lambda: set(counts.iterdir()) - before)
    state = json.loads(daemon.paths.proxy(run_id).state.read_text())
    worker = psutil.Process(state["worker"]["pid"])
    [algorithm] = worker.children()
    return [worker, algorithm]


def steps_in(count: Path, window_s: float) -> int:
    before, begin = _read(count), time.monotonic()
    time.sleep(window_s)
    taken = _read(count) - before
    return round(taken / (time.monotonic() - begin) * window_s)


def _read(path: Path) -> int:
    return int(struct.unpack("<q", path.read_bytes())[0])


def memory_of(daemon: Daemon, managed: list[psutil.Process]) -> dict[str, float]:
    assert daemon.process is not None
    proxy = managed[0].parent()
    assert proxy is not None
    found = {"daemon": psutil.Process(daemon.process.pid), "proxy": proxy, "worker": managed[0]}
    return {name: process.memory_info().rss / 2**20 for name, process in found.items()}


def report(starts: list[list[float]], memory: dict[str, float], window_s: float) -> int:
    chooser = random.Random(0)
    ratios = [ratio for start in starts for ratio in start]
    each = ", ".join(f"{statistics.median(start):.3f}" for start in starts)
    means = sorted(_resampled(starts, chooser) for _ in range(2000))
    median = statistics.median(ratios)
    print(
        f"under the daemon / alone: {median:.3f}, 95 % interval {means[50]:.3f} to {means[-51]:.3f}"
    )
    print(f"each start: {each}")
    print(f"{len(ratios)} pairs of windows of {window_s:g} s; at least {LIMIT} wanted")
    for name, rss_mb in memory.items():
        print(f"{name}: {rss_mb:.0f} MB; under {MEMORY_LIMIT_MB} MB wanted")
    is_light = all(rss_mb < MEMORY_LIMIT_MB for rss_mb in memory.values())
    return 0 if median >= LIMIT and is_light else 1


def _resampled(starts: list[list[float]], chooser: random.Random) -> float:
    """Return the median of starts drawn with replacement, and of pairs drawn within each."""
    drawn = chooser.choices(starts, k=len(starts))
    return statistics.median(
        ratio for start in drawn for ratio in chooser.choices(start, k=len(start))
    )


def _wait_for(is_true: object, timeout_s: float = 60.0) -> None:
    assert callable(is_true)
    deadline = time.monotonic() + timeout_s
    while not is_true():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
