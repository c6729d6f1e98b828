"""Take the pictures of docs/guide/pictures/gui: every page, in both themes and on a phone.

    python scripts/make_screenshots.py                   all of them: some minutes
    python scripts/make_screenshots.py --only home run   those whose name begins so
    python scripts/make_screenshots.py --looks dark 360  those of a theme, or of a phone

It trains two short runs in a data directory of its own, evaluates one, leaves one training, and
removes everything behind itself.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

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
TRAIN = ["train", "ppo", "--env-id", "CartPole-v1", "--tuned", "--detach", "--json"]


def mosaic(var: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mosaic.cli", *words],
        env={**os.environ, "MOSAIC_VAR_DIR": str(var)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


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


def make_runs(var: Path) -> tuple[list[str], str, str]:
    """Return two runs that have ended, their evaluation, and one that is training."""
    ended = []
    for seed in ("1", "2"):
        words = ["--seed", seed, "--total-timesteps", "30000", "--notes", "A first look at PPO."]
        told = mosaic(var, *TRAIN, *words, "--capture-video")
        ended.append(str(json.loads(told)["run_id"]))
    for run_id in ended:
        wait_for_end(var, run_id)
    evaluation = json.loads(mosaic(var, "eval", ended[0], "--detach", "--json"))["run_id"]
    wait_for_end(var, evaluation)
    going = mosaic(var, *TRAIN, "--seed", "3", "--total-timesteps", "100000000")
    return ended, str(evaluation), str(json.loads(going)["run_id"])


def wait_for_end(var: Path, run_id: str) -> None:
    while not json.loads(mosaic(var, "show", run_id, "--json"))["outcome"]:
        time.sleep(1.0)


def addresses(ended: Sequence[str], evaluation: str, going: str) -> dict[str, str]:
    """Return every page by the name of its picture."""
    first, second = ended
    pages = {
        "home": "/",
        "launch-train": "/launch",
        "launch-resume": f"/launch?form=resume&run={first}",
        "launch-evaluate": f"/launch?form=evaluate&run={first}",
        "launch-script": "/launch?form=script",
        "runs": "/runs",
        "runs-grouped": "/runs?group=1",
        "compare": f"/compare?runs={first},{second}",
        "policies": "/policies",
        "sweeps": "/sweeps",
        "environments": "/environments",
        "play": "/play",
        "system": "/system",
        "run": f"/runs/{going}",
        "run-evaluation": f"/runs/{evaluation}",
    }
    tabs = {f"run-{tab}": f"/runs/{going}?tab={tab}" for tab in TABS}
    tabs["run-videos"] = f"/runs/{first}?tab=videos"
    return pages | tabs


def take(page: Page, address: str) -> Image.Image:
    # A run that is training never stops loading: its picture is a stream.
    page.goto(address, wait_until="commit")
    page.locator(".q-page-container").wait_for()
    page.wait_for_timeout(2000)
    size = page.viewport_size
    assert size is not None
    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({**size, "height": max(size["height"], min(height, TALLEST_PX))})
    page.wait_for_timeout(500)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.set_viewport_size(size)
    return picture


def take_all(browser: Browser, link: str, pages: dict[str, str], looks: Sequence[str]) -> None:
    base = link.partition("/login")[0]
    session = None
    for look in looks:
        context = browser.new_context(base_url=base, storage_state=session, **LOOKS[look])
        page = context.new_page()
        if session is None:
            page.goto(link)
            page.screenshot(path=PICTURES / "login.png")
            page.get_by_role("button").click()
            page.get_by_text("daemon ok").wait_for()
            session = context.storage_state()
        for name, address in pages.items():
            picture = take(page, address)
            picture.save(PICTURES / f"{name}-{look}.webp", quality=70, method=6)
            print(f"{name}-{look}.webp  {picture.width} x {picture.height}")
        context.close()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[""], help="names, or how they begin")
    parser.add_argument("--looks", nargs="+", choices=LOOKS, default=list(LOOKS))
    given = parser.parse_args(arguments)
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        var = Path(directory) / "var"
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        with running_gui(var) as link:
            ended, evaluation, going = make_runs(var)
            pages = addresses(ended, evaluation, going)
            wanted = {
                name: path for name, path in pages.items() if name.startswith(tuple(given.only))
            }
            take_all(browser, link, wanted, given.looks)
            mosaic(var, "cancel", going)
        browser.close()


if __name__ == "__main__":
    main()
