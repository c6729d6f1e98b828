"""What a page does when the daemon, its run or the GUI itself goes while it is open."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.gui_process import GuiProcess, wait_until
from tests.browser.seen import expect_state, open_run, see_chart_move

AWAY = "The daemon is away"


@pytest.fixture
def run_id(gui: GuiProcess) -> Iterator[str]:
    """A run that trains for as long as the test needs it."""
    words = ["ppo", "--env-id", "CartPole-v1", "--total-timesteps", "50000000", "--detach"]
    run_id = json.loads(gui.mosaic("train", *words, "--json"))["run_id"]
    yield run_id
    gui.mosaic("cancel", run_id)


def step_of(gui: GuiProcess, run_id: str) -> int:
    return int(json.loads(gui.mosaic("show", run_id, "--json"))["step"])


def test_pages_say_that_the_daemon_is_away_and_recover(
    gui: GuiProcess, page: Page, run_id: str
) -> None:
    runs = page.context.new_page()
    runs.goto("/runs")
    open_run(page, run_id)
    expect_state(page, "running")
    see_chart_move(page)
    gui.kill_daemon()
    for each in (page, runs):
        expect(each.get_by_text(AWAY).first).to_be_visible()
    expect(page.locator(".mosaic-stale")).to_be_visible()
    expect(runs.locator("a", has_text=run_id)).to_be_visible()  # what was known can still be read
    page.get_by_role("button", name="Start the daemon").click()
    for each in (page, runs):
        expect(each.get_by_text(AWAY).first).to_be_hidden()
    see_chart_move(page)  # the training never noticed


def test_a_page_that_is_opened_while_the_daemon_is_away_comes_with_it(
    gui: GuiProcess, page: Page
) -> None:
    gui.mosaic("daemon", "stop")
    page.goto("/runs")
    expect(page.get_by_text(AWAY).first).to_be_visible()
    gui.mosaic("daemon", "start")
    expect(page.locator(".q-table").first).to_be_visible()
    expect(page.get_by_text(AWAY).first).to_be_hidden()


def test_killing_the_gui_touches_no_run_and_its_pages_come_back(
    gui: GuiProcess, browser: Browser, run_id: str
) -> None:
    context = gui.log_in(browser, base_url=gui.base)
    page = context.new_page()
    open_run(page, run_id)
    expect_state(page, "running")
    gui.end(signal.SIGKILL)
    before = step_of(gui, run_id)
    wait_until(lambda: step_of(gui, run_id) > before, "more steps without a GUI")
    with page.expect_event("domcontentloaded"):  # it opens itself again
        gui.restart()
    expect_state(page, "running")
    see_chart_move(page)
    context.close()


def test_a_run_that_is_deleted_while_its_page_is_open(gui: GuiProcess, page: Page) -> None:
    words = ["ppo", "--env-id", "CartPole-v1", "--total-timesteps", "1024", "--detach", "--json"]
    run_id = json.loads(gui.mosaic("train", *words))["run_id"]
    page.goto(f"/runs/{run_id}")
    expect_state(page, "succeeded")
    gui.mosaic("rm", run_id)
    expect(page.get_by_text("This run is in the bin.")).to_be_visible()
    page.get_by_role("button", name="Restore", exact=True).click()
    expect(page.get_by_text("This run is in the bin.")).to_be_hidden()
    gui.mosaic("rm", "--purge", run_id)
    expect(page.get_by_text("This run was removed for good")).to_be_visible()
    expect(page.get_by_text(run_id).first).to_be_visible()
    page.reload()
    expect(page.get_by_text(f"No run has the id '{run_id}'")).to_be_visible()
