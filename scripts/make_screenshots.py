"""Take the pictures of docs/guide/pictures/gui: every page, in both themes and on a phone.

    python scripts/make_screenshots.py                   all of them: some minutes
    python scripts/make_screenshots.py --only home run   those whose name begins so
    python scripts/make_screenshots.py --looks dark 360  those of a theme, or of a phone
    python scripts/make_screenshots.py --keep DIR        leave the runs there, and use them again

It makes its runs in a data directory of its own (screenshot_runs.py says which), and removes
everything behind itself.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from screenshot_runs import SETTINGS, STUDY, Runs, make_runs, mosaic, stop_runs

from mosaic.contracts.paths import VarPaths

PICTURES = Path(__file__).parents[1] / "docs" / "guide" / "pictures" / "gui"
# Name: browser options. A phone is as narrow as they come.
LOOKS = {
    "light": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "360": {"viewport": {"width": 360, "height": 740}, "color_scheme": "light"},
}
TABS = (
    *("charts", "fastlane", "tensorboard", "wandb", "trials", "videos", "live", "replay"),
    *("logs", "config", "checkpoints", "files"),
)
# A page may be long; what lies below this many screens says nothing new.
TALLEST_PX = 2000
QUALITY = 40
PATIENCE_MS = 120_000


@contextlib.contextmanager
def running_gui(var: Path) -> Iterator[str]:
    """Start the GUI, and a daemon with it; yield the link."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gym_gui", "--no-browser", "--port", "0"],
        env={**os.environ, "MOSAIC_VAR_DIR": str(var)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(30)
        with contextlib.suppress(subprocess.CalledProcessError):
            mosaic(var, "daemon", "stop")


def addresses(runs: Runs) -> dict[str, str]:
    """Return every page by the name of its picture."""
    first, going = runs.tuned[0], runs.going
    together = ",".join((*runs.tuned, *runs.slower))
    pages = {
        "home": "/",
        "launch-train": "/launch",
        "launch-resume": f"/launch?form=resume&run={first}",
        "launch-evaluate": f"/launch?form=evaluate&run={first}",
        "launch-script": "/launch?form=script&policy=quick_test",
        "runs": "/runs",
        "runs-grouped": "/runs?group=1",
        "compare": f"/compare?runs={together}",
        "policies": "/policies",
        "sweeps": "/sweeps",
        "sweep": f"/sweeps/{STUDY}",
        "environments": "/environments",
        "play": "/play",
        "system": "/system",
        "run": f"/runs/{going}",
        "run-failed": f"/runs/{runs.failed}",
        "run-watchdog": f"/runs/{runs.frozen}",
        "run-evaluation": f"/runs/{runs.evaluation}",
        "run-evaluation-batch": f"/runs/{runs.evaluation}?tab=evaluation",
    }
    tabs = {f"run-{tab}": f"/runs/{going}?tab={tab}" for tab in TABS}
    ended = {f"run-{tab}": f"/runs/{first}?tab={tab}" for tab in ("tensorboard", "wandb", "videos")}
    told = {f"run-{tab}": f"/runs/{runs.agent}?tab={tab}" for tab in ("live", "replay")}
    return {**pages, **tabs, **ended, **told, "run-trials": f"/runs/{runs.trial}?tab=trials"}


def play(page: Page) -> None:
    """Begin a game and take a few steps, as somebody does who looks for the goal."""
    page.get_by_role("button", name="Start playing").click()
    page.get_by_text("your move").wait_for(timeout=PATIENCE_MS)
    for number, key in enumerate(("ArrowRight", "ArrowRight", "ArrowDown"), 1):
        page.keyboard.press(key)
        # The ice is slippery: the hole may come first.
        told = page.get_by_text(re.compile(rf"step {number}:|is over"))
        told.wait_for(timeout=PATIENCE_MS)
        if "is over" in told.inner_text():
            break


def leave(page: Page) -> None:
    page.get_by_role("button", name="Stop and keep").click()
    page.wait_for_url("**/runs/*", wait_until="commit")


def draw_scalars(page: Page) -> None:
    board = page.frame_locator("iframe[title=TensorBoard]")
    board.locator("scalar-card path, scalar-card canvas").first.wait_for(timeout=PATIENCE_MS)
    page.wait_for_timeout(3000)


def step_on(page: Page) -> None:
    page.get_by_text("The beginning of the episode.").wait_for(timeout=PATIENCE_MS)
    for _ in range(3):
        page.get_by_role("button", name="One step on").click()
        page.wait_for_timeout(300)


# A picture is of every machine: the folders of this one are named as a user's would be.
_RENAME = """names => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode())
    for (const [from, to] of names)
      if (walker.currentNode.data.includes(from))
        walker.currentNode.data = walker.currentNode.data.replaceAll(from, to);
}"""


def rename_folders(page: Page, var: Path) -> None:
    names = [[str(var), "~/mosaic/var"], [str(Path(__file__).parents[1]), "~/mosaic"]]
    page.evaluate(_RENAME, [*names, [str(Path.home()), "~"]])


def draw_curves(page: Page) -> None:
    page.wait_for_function(
        "[...(window.mosaicChart?.data?.values() ?? [])].some(lines => lines[2]?.length > 100)",
        timeout=PATIENCE_MS,
    )
    page.wait_for_timeout(1000)


def draw_step(page: Page) -> None:
    page.locator("img[src^='data:image/jpeg']").first.wait_for(timeout=PATIENCE_MS)
    page.wait_for_timeout(500)


# Name of a picture: what comes before it is taken.
FIRST = {
    "run": draw_curves,
    "run-charts": draw_curves,
    "play": play,
    "run-tensorboard": draw_scalars,
    "run-replay": step_on,
    "run-live": draw_step,
}
AFTER = {"play": leave}


def take(page: Page, name: str, address: str, var: Path) -> Image.Image:
    # A run that is training never stops loading: its picture is a stream.
    page.goto(address, wait_until="commit")
    page.locator(".q-page-container").wait_for()
    page.wait_for_timeout(3000)
    if name in FIRST:
        FIRST[name](page)
    size = page.viewport_size
    assert size is not None
    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({**size, "height": max(size["height"], min(height, TALLEST_PX))})
    page.wait_for_timeout(1500)  # many charts take a while to be drawn for another height
    rename_folders(page, var)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.set_viewport_size(size)
    if name in AFTER:
        AFTER[name](page)
    return picture


def take_all(
    browser: Browser, link: str, pages: dict[str, str], looks: Sequence[str], var: Path
) -> None:
    base = link.partition("/login")[0]
    session = None
    for look in looks:
        context = browser.new_context(base_url=base, storage_state=session, **LOOKS[look])
        page = context.new_page()
        if session is None:
            page.goto(link)
            page.screenshot(path=PICTURES / "login.png")
            page.get_by_role("button").click()
            page.get_by_role("button", name="daemon ok").wait_for()
            session = context.storage_state()
        for name, address in pages.items():
            picture = take(page, name, address, var)
            picture.save(PICTURES / f"{name}-{look}.webp", quality=QUALITY, method=6)
            print(f"{name}-{look}.webp  {picture.width} x {picture.height}", flush=True)
        context.close()


@contextlib.contextmanager
def kept_or_made(directory: Path | None) -> Iterator[Path]:
    """Yield the directory of the data: the one that is kept, or one that goes afterwards."""
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        yield directory.resolve()
        return
    with tempfile.TemporaryDirectory() as made:
        yield Path(made) / "var"


def known_runs(var: Path) -> Runs:
    """Return the runs that an earlier call has left, or make them."""
    file = var / "pictured.json"
    if not file.exists():
        file.write_text(json.dumps(dataclasses.asdict(make_runs(var))))
    return Runs(**json.loads(file.read_text()))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[""], help="names, or how they begin")
    parser.add_argument("--looks", nargs="+", choices=LOOKS, default=list(LOOKS))
    parser.add_argument("--keep", type=Path, help="where to keep the runs, and find them again")
    given = parser.parse_args(arguments)
    PICTURES.mkdir(parents=True, exist_ok=True)
    with kept_or_made(given.keep) as var, sync_playwright() as playwright:
        VarPaths(var).settings.parent.mkdir(parents=True, exist_ok=True)
        VarPaths(var).settings.write_text(SETTINGS)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        with running_gui(var) as link:
            runs = known_runs(var)
            wanted = {
                name: path
                for name, path in addresses(runs).items()
                if name.startswith(tuple(given.only))
            }
            take_all(browser, link, wanted, given.looks, var)
            if given.keep is None:
                stop_runs(var, runs)
        browser.close()


if __name__ == "__main__":
    main()
