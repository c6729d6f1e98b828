"""One GUI and one daemon for all of these tests, one Chromium for each module."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.gui_process import TIMEOUT_S, GuiProcess
from tests.browser.stored_runs import plant_hostile_run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "browser" in item.fixturenames:  # type: ignore[attr-defined]
            item.add_marker(pytest.mark.needs_system("chromium"))


# The usual five seconds are few on a machine that trains beside it.
expect.set_options(timeout=TIMEOUT_S * 1000)


@pytest.fixture(scope="package")
def gui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuiProcess]:
    var = tmp_path_factory.mktemp("gui") / "var"
    plant_hostile_run(var)
    gui = GuiProcess.start(var)
    yield gui
    gui.end()
    gui.mosaic("daemon", "stop")


# Not longer than a module: Playwright holds an event loop, which other tests want for themselves.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        yield browser
        browser.close()


@pytest.fixture
def page(gui: GuiProcess, browser: Browser) -> Iterator[Page]:
    """A page of somebody who is logged in; scripts that fail in it fail the test."""
    context = gui.log_in(browser, base_url=gui.base)
    page = context.new_page()
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    yield page
    context.close()
    assert broken == []
