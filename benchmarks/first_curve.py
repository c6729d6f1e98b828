"""A new user's path, timed: clone, `make run`, and the first learning curve in a real browser.

    python benchmarks/first_curve.py [--source URL_OR_PATH] [--out FOLDER]

Printed: the seconds until each station, and the clicks. A path of more than 4 clicks or 5 minutes
is an exit code of 1. Packages come from where pip and uv are configured to look, caches included;
everything else is new: the clone, its `.venv`, its data directory, the browser. Needs Chromium and
the package playwright where it runs. `--out` keeps a picture of what was seen.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Locator, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
MOST_CLICKS = 4
LIMIT_S = 300.0
# So many points make a line that can be seen to rise or fall.
CURVE_POINTS = 10
TIMEOUT_MS = 120_000
BROWSER = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")
POINTS = """() => [...(window.mosaicChart?.data?.values() ?? [])]
  .reduce((most, lines) => Math.max(most, lines[2]?.length ?? 0), 0)"""


class Clock:
    """Tells when each station was reached."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def reached(self, station: str) -> None:
        print(f"{self.seconds:7.1f} s  {station}", flush=True)


class Mouse:
    """Clicks, and counts them."""

    def __init__(self) -> None:
        self.clicks = 0

    def click(self, what: Locator) -> None:
        what.click()
        self.clicks += 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", default=str(ROOT), help="what is cloned; this checkout")
    parser.add_argument("--out", type=Path, help="folder for a picture of the curve")
    given = parser.parse_args(arguments)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("No Chromium is installed: nothing was measured.")
        return 0
    with tempfile.TemporaryDirectory(prefix="mosaic-first-curve-") as folder:
        return measure(given.source, Path(folder) / "mosaic", chromium, given.out)


def measure(source: str, clone: Path, chromium: str, out: Path | None) -> int:
    clock, mouse = Clock(), Mouse()
    subprocess.run(["git", "clone", "--quiet", source, str(clone)], check=True)
    clock.reached("cloned")
    gui = subprocess.Popen(
        ["make", "run", "RUN=--no-browser --port 0"],
        cwd=clone,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        link = find_link(gui)
        clock.reached("`make run` printed the link")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=BROWSER)
            see_curve(browser.new_page(), link, clock, mouse, out)
            browser.close()
    finally:
        end(gui, clone)
    is_good = mouse.clicks <= MOST_CLICKS and clock.seconds <= LIMIT_S
    print(f"{mouse.clicks} clicks (at most {MOST_CLICKS}), limit {LIMIT_S:.0f} s")
    return 0 if is_good else 1


def environment() -> dict[str, str]:
    """Return the variables of a new user: nothing of ours is set."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MOSAIC_")}


def find_link(gui: subprocess.Popen[str]) -> str:
    assert gui.stdout is not None
    for line in gui.stdout:
        found = re.search(r"http://\S+/login\?token=\S+", line)
        if found:
            return found[0]
    raise SystemExit("`make run` ended without a link.")


def see_curve(page: Page, link: str, clock: Clock, mouse: Mouse, out: Path | None) -> None:
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(link)
    mouse.click(page.get_by_role("button", name="Open MOSAIC"))
    first = page.get_by_role("button", name=re.compile("^Train PPO on CartPole"))
    first.wait_for()
    clock.reached("the GUI stood")
    mouse.click(first)
    page.wait_for_url("**/runs/*")
    clock.reached("the run's page stood")
    page.wait_for_function(f"({POINTS})() >= {CURVE_POINTS}")
    clock.reached(f"a curve of {CURVE_POINTS} points was on the screen")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(out / "first-curve.png"))


def end(gui: subprocess.Popen[str], clone: Path) -> None:
    """End what was started: the GUI's group, then the daemon with its runs."""
    mosaic = clone / ".venv" / "bin" / "mosaic"
    os.killpg(gui.pid, signal.SIGTERM)
    gui.wait(30)
    if mosaic.exists():
        listed = subprocess.run(
            [str(mosaic), "ps"], cwd=clone, env=environment(), capture_output=True, text=True
        )
        runs = re.findall(r"^([0-9A-Z]{10,26}) ", listed.stdout, re.MULTILINE)
        for words in (["cancel", *runs] if runs else ["ps"], ["daemon", "stop"]):
            subprocess.run([str(mosaic), *words], cwd=clone, env=environment(), stdout=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
