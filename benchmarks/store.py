"""What the daemon's store takes: lists of many runs, envelopes of long series, points a second.

python benchmarks/store.py                              10,000 runs, ten million points: minutes
python benchmarks/store.py --runs 500 --points 50000    a look
"""

from __future__ import annotations

import argparse
import functools
import random
import resource
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from mosaic.contracts.identifiers import new_run_id
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.states import Outcome, RunState
from mosaic.trainer.store import metrics, runs
from mosaic.trainer.store.database import Database
from mosaic.trainer.store.metrics import Point
from mosaic.trainer.store.runs import RunQuery, RunRecord
from mosaic.trainer.store.store import Store

ALGORITHMS = ("ppo", "dqn", "c51", "sac_continuous_action", "ppo_atari")
ENVIRONMENTS = ("CartPole-v1", "HalfCheetah-v5", "BreakoutNoFrameskip-v4", "LunarLander-v3")
RUN = "01JBENCHMARK"
TAG = "charts/episodic_return"
BATCH_POINTS = 4_096
IN_FLIGHT = 8
REPEATS = 15
# As long as a run config with every hyperparameter.
CONFIG: dict[str, Any] = {"metadata": {"worker": {"config": {f"key_{n}": n for n in range(150)}}}}


def make_runs(count: int) -> Iterator[RunRecord]:
    generator = random.Random(1)
    for number in range(count):
        is_ended = generator.random() < 0.99
        yield RunRecord(
            run_id=new_run_id(),
            name=f"sweep {number % 97} seed {number}",
            state=RunState.TERMINATED if is_ended else RunState.EXECUTING,
            outcome=generator.choice(list(Outcome)) if is_ended else None,
            created_at=1_700_000_000.0 + number,
            algo=generator.choice(ALGORITHMS),
            env_id=generator.choice(ENVIRONMENTS),
            worker="cleanrl",
            step=generator.randrange(10**7),
            config=CONFIG,
        )


def time_reads(database: Database, work: Callable[[sqlite3.Connection], Any]) -> tuple[str, Any]:
    """Return how long a read takes, from asking to having it, and what it answered."""
    times, processor, answer = [], [], None
    for _ in range(REPEATS):
        started = time.perf_counter(), time.process_time()
        answer = database.read(work).result()
        times.append((time.perf_counter() - started[0]) * 1000)
        processor.append((time.process_time() - started[1]) * 1000)
    return f"{statistics.median(times):8.1f} ms ({statistics.median(processor):6.1f})", answer


def read_all(connection: sqlite3.Connection) -> int:
    """Read every run, page after page."""
    query, count = RunQuery(page_size=1000), 0
    while True:
        page = runs.page(connection, query)
        count += len(page.records)
        if not page.next_token:
            return count
        query = RunQuery(page_size=1000, page_token=page.next_token)


def measure_runs(store: Store, count: int) -> None:
    def insert(connection: sqlite3.Connection) -> None:
        for record in make_runs(count):
            runs.insert(connection, record)

    store.runs.write(insert).result()
    print(f"\n{count:,} runs, median of {REPEATS} reads (in brackets, processor time):")
    for name, query in (
        ("first page of 100", RunQuery()),
        ("by algorithm and outcome, 100", RunQuery(algo="ppo", outcomes=("failed",))),
        ("by text, 100", RunQuery(text="SEED 12")),
        ("by step, 1000", RunQuery(order_by="step", page_size=1000)),
        ("unfinished", RunQuery(only_unfinished=True)),
    ):
        took, page = time_reads(store.runs, functools.partial(runs.page, query=query))
        print(f"  {name:32} {took}  {len(page.records)} of {page.total:,}")
    took, number = time_reads(store.runs, read_all)
    print(f"  {'all of them, pages of 1000':32} {took}  {number:,}")


def make_points(count: int) -> Iterator[list[Point]]:
    """Yield batches of a noisy curve, as they come from the spool."""
    generator = random.Random(2)
    for start in range(0, count, BATCH_POINTS):
        batch = []
        for number in range(start, min(count, start + BATCH_POINTS)):
            value = number / count + generator.random()
            batch.append((TAG, number * 4, value, value, value, 1))
        yield batch


def write_points(store: Store, count: int) -> None:
    """Store the points as the daemon does, a few batches ahead."""
    waiting: list[Future[None]] = []
    for number, batch in enumerate(make_points(count), start=1):
        append = functools.partial(
            metrics.append, run_id=RUN, points=batch, next_offset=number * 100
        )
        waiting.append(store.telemetry.write(append))
        if len(waiting) >= IN_FLIGHT:
            waiting.pop(0).result()
    for future in waiting:
        future.result()


def measure_points(store: Store, count: int) -> None:
    started = time.perf_counter(), time.process_time()
    write_points(store, count)
    took_s, processor_s = time.perf_counter() - started[0], time.process_time() - started[1]
    size_mb = store.telemetry.path.stat().st_size / 1e6
    print(f"\n{count:,} points of one series, {BATCH_POINTS:,} a batch, rollups included:")
    print(
        f"  stored {count / took_s:,.0f} a second ({count / processor_s:,.0f} of processor "
        f"time, which making them up is part of), {size_mb:.0f} MB"
    )
    generator = random.Random(3)
    last = count * 4
    windows: list[tuple[str, int | None, int | None]] = [("whole", None, None)]
    for share in (0.5, 0.01, 0.0001):
        first = generator.randrange(int(last * (1 - share)))
        windows.append((f"a window of {share:.2%}", first, first + int(last * share)))
    for name, first_step, last_step in windows:
        work = functools.partial(
            metrics.envelope, run_id=RUN, tag=TAG, from_step=first_step, to_step=last_step
        )
        took, envelope = time_reads(store.telemetry, work)
        print(
            f"  envelope, {name:22} {took}  {len(envelope.mean)} buckets of "
            f"{envelope.points_per_bucket:,}"
        )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("give at least 1")
    return number


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=_positive, default=10_000)
    parser.add_argument("--points", type=_positive, default=10_000_000)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        store = Store.open(VarPaths(Path(directory)))
        try:
            measure_runs(store, options.runs)
            measure_points(store, options.points)
        finally:
            store.close()
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nThis process at its largest: {peak_mb:.0f} MB.")


if __name__ == "__main__":
    main()
