"""Events a second through spool, proxy, gRPC and store, and what it costs the processes.

    python benchmarks/event_stream.py [--rate 20000] [--seconds 60] [--kind metrics|steps]

A worker writes numbered metric events, or steps in episodes of ten, at the rate; the run must end
with every one of them stored, once and in order. Printed: the rate that was kept, how far the store
was behind when the worker ended, and the largest memory that daemon and proxy held.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from tests.trainer.daemons import SITE, Daemon, running  # noqa: E402 - needs the path above

# The ticker's behaviour for each kind, and where its numbers end up.
KINDS = {"metrics": "Flood-v0", "steps": "Walk-v0"}
SOURCES = {
    "metrics": ("step", "points JOIN series USING (series_id)"),
    "steps": ("observation", "steps JOIN recordings USING (recording_id)"),
}


class Watch:
    """The largest memory and the processor time of some processes, looked at as they run."""

    def __init__(self) -> None:
        self.peak_mb: dict[str, float] = {}
        self.cpu_s: dict[str, float] = {}
        self._processes: dict[str, psutil.Process] = {}
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def add(self, name: str, pid: int) -> None:
        self._processes[name] = psutil.Process(pid)

    def _look(self) -> None:
        while not self._is_done.wait(0.2):
            for name, process in list(self._processes.items()):
                try:
                    rss_mb = process.memory_info().rss / 2**20
                    times = process.cpu_times()
                except psutil.NoSuchProcess:
                    continue
                self.peak_mb[name] = max(self.peak_mb.get(name, 0.0), rss_mb)
                self.cpu_s[name] = times.user + times.system

    def stop(self) -> None:
        self._is_done.set()
        self._thread.join()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=20_000, help="events a second")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--kind", choices=KINDS, default="metrics")
    given = parser.parse_args()
    path = os.pathsep.join(filter(None, [str(SITE), os.environ.get("PYTHONPATH")]))
    os.environ["PYTHONPATH"] = path
    with tempfile.TemporaryDirectory() as directory, running(Path(directory) / "var") as daemon:
        return measure(daemon, given.rate, given.seconds, given.kind)


def measure(daemon: Daemon, rate: int, seconds: int, kind: str) -> int:
    total = rate * seconds
    assert daemon.process is not None
    watch = Watch()
    watch.add("daemon", daemon.process.pid)
    run_id = daemon.submit(KINDS[kind], steps=total, rate=float(rate))
    daemon.wait_for(run_id, "EXECUTING", timeout_s=60)
    state_path = daemon.paths.proxy(run_id).state
    import json

    state = json.loads(state_path.read_text())
    watch.add("proxy", state["proxy"]["pid"])
    worker = psutil.Process(state["worker"]["pid"])
    begin = time.monotonic()
    while worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.05)
    written_s = time.monotonic() - begin
    behind = total - stored(daemon, run_id, kind)[0]
    run = daemon.wait_for(run_id, "TERMINATED", "FAULTED", timeout_s=300)
    ended_s = time.monotonic() - begin
    watch.stop()
    count, first, last, distinct = stored(daemon, run_id, kind)
    print(f"asked for: {rate:,} events a second for {seconds} s, {total:,} events")
    print(f"written by the worker in about {written_s:.1f} s, all stored after {ended_s:.1f} s")
    print(f"behind when the worker ended: {behind:,} events")
    print(f"stored: {count:,}, distinct {distinct:,}, steps {first} to {last}; run {run.outcome}")
    for name, peak in watch.peak_mb.items():
        share = watch.cpu_s[name] / ended_s
        print(f"{name}: at most {peak:.0f} MB, {share:.0%} of one core")
    begin_at = 1 if kind == "metrics" else 0
    whole = (count, first, last, distinct) == (total, begin_at, total - 1 + begin_at, total)
    print("nothing lost, nothing doubled" if whole else "EVENTS WERE LOST OR DOUBLED")
    return 0 if whole and run.outcome == "succeeded" else 1


def stored(daemon: Daemon, run_id: str, kind: str) -> tuple[int, int, int, int]:
    number, tables = SOURCES[kind]
    with sqlite3.connect(daemon.paths.telemetry_database) as connection:
        row = connection.execute(
            f"SELECT count(*), min({number}), max({number}), count(DISTINCT {number}) "
            f"FROM {tables} WHERE run_id = ?",
            (run_id,),
        ).fetchone()
    return tuple(value or 0 for value in row)  # type: ignore[return-value]


if __name__ == "__main__":
    sys.exit(main())
