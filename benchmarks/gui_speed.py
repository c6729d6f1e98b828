"""How soon the GUI shows ten thousand runs, and a run of ten million points, in a real browser.

python benchmarks/gui_speed.py                             minutes, most of them to write the points
python benchmarks/gui_speed.py --runs 500 --points 50000   a look
python benchmarks/gui_speed.py --keep /tmp/many            keep the data, and use it again
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.client
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from store import RUN, make_runs, write_points

from mosaic.contracts.paths import VarPaths
from mosaic.contracts.states import Outcome, RunState
from mosaic.trainer.store import runs
from mosaic.trainer.store.runs import RunRecord
from mosaic.trainer.store.store import Store

REPEATS = 7
ROWS = 50
_DRAWN = """() => [...(window.mosaicChart?.data?.values() ?? [])]
  .some(lines => (lines[2]?.length ?? 0) > 100)"""
PAGES = ["/", "/launch", "/runs", "/runs?group=1", "/compare", "/policies", "/environments"]
PAGES += ["/system", "/sweeps", "/play", f"/runs/{RUN}", f"/runs/{RUN}?tab=charts"]


def fill(paths: VarPaths, count: int, points: int) -> None:
    """Write the runs and the points as the daemon stores them."""
    store = Store.open(paths)

    def insert(connection: sqlite3.Connection) -> None:
        for record in make_runs(count):
            runs.insert(connection, record)

    try:
        store.runs.write(insert).result()
        store.runs.write(functools.partial(runs.insert, record=_long_run(points))).result()
        write_points(store, points)
    finally:
        store.close()


def _long_run(points: int) -> RunRecord:
    config = {"run_id": RUN, "algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": points * 4}
    worker = {"worker_id": "w", "module": "cleanrl_worker.cli", "config": {**config, "extras": {}}}
    return RunRecord(
        run_id=RUN,
        name="ten million points",
        state=RunState.TERMINATED,
        outcome=Outcome.SUCCEEDED,
        created_at=time.time(),
        algo="ppo",
        env_id="CartPole-v1",
        worker="cleanrl",
        step=points * 4,
        last_return=1.0,
        config={"run_name": "ten million points", "metadata": {"worker": worker}},
    )


@contextlib.contextmanager
def running_gui(var: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the GUI, and a daemon with it; yield the process and the link."""
    environment = {**os.environ, "MOSAIC_VAR_DIR": str(var)}
    process = subprocess.Popen(
        [sys.executable, "-m", "gym_gui", "--no-browser", "--port", "0"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(30)
        stop = [sys.executable, "-m", "mosaic.cli", "daemon", "stop"]
        subprocess.run(stop, env=environment, check=False, capture_output=True)


def log_in(context: BrowserContext, link: str) -> str:
    """Use the link, wait until the daemon answers, and return the cookie."""
    base = link.partition("/login")[0]
    token = parse_qs(urlsplit(link).query)["token"][0]
    context.request.post(f"{base}/login", form={"token": token}, headers={"Origin": base})
    page = context.new_page()
    page.goto(base)
    page.get_by_text("daemon ok").wait_for()
    page.close()
    [cookie] = [each for each in context.cookies() if each["name"].startswith("mosaic")]
    return f"{cookie['name']}={cookie['value']}"


def milliseconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def open_runs(page: Page, base: str) -> None:
    page.goto(f"{base}/runs", wait_until="commit")
    page.locator(".mosaic-runs tbody tr").nth(ROWS - 1).wait_for()


def read_page(base: str, path: str, cookie: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(base).netloc, timeout=60)
    connection.request("GET", path, headers={"Cookie": cookie})
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200, answer.status
    connection.close()


def worked(process: subprocess.Popen[str], base: str, cookie: str) -> float:
    """Return the processor time that a page takes: no neighbour on the machine can lengthen it."""
    gui = psutil.Process(process.pid)
    before = gui.cpu_times()
    for _ in range(3 * REPEATS):
        read_page(base, "/runs", cookie)
    after = gui.cpu_times()
    return (after.user + after.system - before.user - before.system) * 1000 / (3 * REPEATS)


def open_chart(page: Page) -> None:
    """Go from another tab of the run to its charts, and wait until points are drawn."""
    page.get_by_role("tab", name="Charts").click()
    page.wait_for_function(_DRAWN)


def measure_charts(page: Page, base: str) -> list[float]:
    times = []
    for _ in range(REPEATS):
        page.goto(f"{base}/runs/{RUN}?tab=checkpoints")
        page.get_by_role("tab", name="Charts").wait_for()
        page.wait_for_timeout(300)
        times.append(milliseconds(lambda: open_chart(page)))
    return times


def told(name: str, value: float, limit: float, unit: str = "ms") -> None:
    verdict = "ok" if value <= limit else "MISSED"
    print(f"  {name:38} {value:7.0f} {unit}   at most {limit:,.0f} {unit}: {verdict}")


def told_times(name: str, times: Sequence[float], limit: float) -> None:
    told(name, statistics.median(times), limit)


def measure(var: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        with running_gui(var) as (process, link):
            base = link.partition("/login")[0]
            context = browser.new_context()
            context.set_default_timeout(60_000)
            cookie = log_in(context, link)
            cold = browser.new_context(storage_state=context.storage_state()).new_page()
            told("Runs, an empty browser", milliseconds(lambda: open_runs(cold, base)), 1500)
            page = context.new_page()
            open_runs(page, base)
            told_times("Runs, again", repeat(lambda: open_runs(page, base)), 1000)
            served = repeat(lambda: read_page(base, "/runs", cookie))
            told_times("Runs, the server's part", served, 100)
            told("  of it processor time of the GUI", worked(process, base, cookie), 100)
            told_times("the chart of a run, from another tab", measure_charts(page, base), 300)
        measure_memory(browser, var)
        browser.close()


def measure_memory(browser: Browser, var: Path) -> None:
    """Open every page of a GUI that has just been started."""
    with running_gui(var) as (process, link):
        context = browser.new_context()
        log_in(context, link)
        page = context.new_page()
        for path in PAGES:
            page.goto(link.partition("/login")[0] + path)
            page.wait_for_timeout(1500)
        memory_mb = psutil.Process(process.pid).memory_info().rss / 1e6
        told("memory of the GUI after every page", memory_mb, 150, "MB")


def repeat(work: Callable[[], object]) -> list[float]:
    return [milliseconds(work) for _ in range(REPEATS)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--points", type=int, default=10_000_000)
    parser.add_argument(
        "--keep", type=Path, help="where to keep the data, made where it is missing"
    )
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        var = given.keep or Path(temporary) / "var"
        marker = var / "filled.json"
        wanted = {"runs": given.runs, "points": given.points}
        if not marker.exists() or json.loads(marker.read_text()) != wanted:
            shutil.rmtree(var, ignore_errors=True)
            var.mkdir(parents=True)
            fill(VarPaths(var), given.runs, given.points)
            marker.write_text(json.dumps(wanted))
        print(f"{given.runs:,} runs, one of them with {given.points:,} points;", end=" ")
        print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors:")
        measure(var)


if __name__ == "__main__":
    main()
