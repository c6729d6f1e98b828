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
import json
import os
import random
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
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
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--window", type=float, default=2.0, help="seconds of a turn")
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
            return measure(daemon, Path(directory), counts, given.pairs, given.window)


def measure(daemon: Daemon, directory: Path, counts: Path, pairs: int, window_s: float) -> int:
    alone = start_alone(directory, daemon.paths.root)
    try:
        _wait_for(lambda: (counts / str(alone.pid)).exists())
        alone.send_signal(signal.SIGSTOP)
        managed = start_managed(daemon, counts, alone.pid)
        ratios = take_turns(counts, managed, alone, pairs, window_s)
        memory = memory_of(daemon, managed)
    finally:
        alone.kill()
        alone.wait()
    return report(ratios, memory, window_s)


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


def start_managed(daemon: Daemon, counts: Path, other: int) -> list[psutil.Process]:
    """Submit the run, and return its processes: the worker, then the algorithm."""
    config = {"algo": "ppo", "env_id": ENV_ID, "total_timesteps": STEPS, "seed": 1}
    document = {"metadata": {"worker": {"module": "cleanrl_worker.cli", "config": config}}}
    request = pb.SubmitRunRequest(config_json=json.dumps(document))
    run_id = daemon.call("SubmitRun", request).run.run_id
    _wait_for(lambda: any(path.name != str(other) for path in counts.iterdir()))
    state = json.loads(daemon.paths.proxy(run_id).state.read_text())
    worker = psutil.Process(state["worker"]["pid"])
    [algorithm] = worker.children()
    return [worker, algorithm]


def take_turns(
    counts: Path,
    managed: list[psutil.Process],
    alone: subprocess.Popen[bytes],
    pairs: int,
    window_s: float,
) -> list[float]:
    def run_managed() -> int:
        alone.send_signal(signal.SIGSTOP)
        for process in managed:
            process.resume()
        return steps_in(counts / str(managed[1].pid), window_s)

    def run_alone() -> int:
        for process in reversed(managed):
            process.suspend()
        alone.send_signal(signal.SIGCONT)
        return steps_in(counts / str(alone.pid), window_s)

    ratios = []
    for number in range(pairs + 2):
        # Alternately the one and the other first: a drift of the machine hits both alike.
        turns = (run_managed, run_alone) if number % 2 else (run_alone, run_managed)
        taken = {turn: turn() for turn in turns}
        if number >= 2:  # both have warmed up
            ratios.append(taken[run_managed] / taken[run_alone])
    return ratios


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


def report(ratios: list[float], memory: dict[str, float], window_s: float) -> int:
    chooser = random.Random(0)
    medians = sorted(statistics.median(chooser.choices(ratios, k=len(ratios))) for _ in range(2000))
    low, high = medians[50], medians[-51]
    median = statistics.median(ratios)
    print(f"under the daemon / alone: {median:.3f}, 95 % interval {low:.3f} to {high:.3f}")
    print(f"{len(ratios)} pairs of windows of {window_s:g} s; at least {LIMIT} wanted")
    for name, rss_mb in memory.items():
        print(f"{name}: {rss_mb:.0f} MB; under {MEMORY_LIMIT_MB} MB wanted")
    is_light = all(rss_mb < MEMORY_LIMIT_MB for rss_mb in memory.values())
    return 0 if median >= LIMIT and is_light else 1


def _wait_for(is_true: object, timeout_s: float = 60.0) -> None:
    assert callable(is_true)
    deadline = time.monotonic() + timeout_s
    while not is_true():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
