"""The store under kill -9: what was acknowledged is there, and nothing is there twice."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from mosaic.contracts.paths import VarPaths
from mosaic.trainer.store import events, metrics
from mosaic.trainer.store.store import Store
from tests.trainer.store import spool_writer
from tests.trainer.store.spool_writer import LINE_BYTES, RUN, TAG

SOURCE = str(Path(__file__).parents[3] / "src")
KILLS = 12


def start(paths: VarPaths, lines: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, spool_writer.__file__, str(paths.root), str(lines)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )


def kill_in_the_middle(paths: VarPaths, delay_s: float) -> int:
    """Let it store for so long, and kill it; return the last offset that it acknowledged."""
    with start(paths, 10**9) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(delay_s)
        process.kill()
        acknowledged = [first, *process.stdout]
    return int([line for line in acknowledged if line.endswith("\n")][-1])


def stored_lines(paths: VarPaths) -> tuple[int, int]:
    """Check both files, and return how many lines each holds: all from the first, each once."""
    for path in (paths.trainer_database, paths.telemetry_database):
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    store = Store.open(paths)
    lines = store.runs.read(lambda c: events.lines(c, RUN, 10**9)).result()
    event_offset = store.runs.read(lambda c: events.offset(c, RUN)).result()
    steps = store.telemetry.read(
        lambda c: c.execute("SELECT step FROM points ORDER BY position").fetchall()
    ).result()
    metric_offset = store.telemetry.read(lambda c: metrics.offset(c, RUN)).result()
    whole = store.telemetry.read(lambda c: metrics.envelope(c, RUN, TAG, max_points=1)).result()
    store.close()
    assert lines == [f"line {number}" for number in range(event_offset // LINE_BYTES)]
    assert steps == [(number,) for number in range(metric_offset // LINE_BYTES)]
    assert whole.count == [len(steps)]
    assert (whole.minimum, whole.maximum) == ([0.0], [float(len(steps) - 1)])
    return len(lines), len(steps)


def test_nothing_is_lost_after_its_acknowledgement_and_nothing_doubled(tmp_path: Path) -> None:
    paths = VarPaths(tmp_path / "var")
    generator = random.Random(2)
    for _ in range(KILLS):
        acknowledged = kill_in_the_middle(paths, generator.uniform(0.0, 0.15))
        assert min(stored_lines(paths)) * LINE_BYTES >= acknowledged
    total = max(stored_lines(paths)) + 1_000
    with start(paths, total) as process:
        assert process.wait(60) == 0
        assert process.stdout is not None
        assert process.stdout.read().splitlines()[-1] == str(total * LINE_BYTES)
    assert stored_lines(paths) == (total, total)
