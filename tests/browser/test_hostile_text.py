"""Names, notes, metrics, logs and files of runs are text, whatever they hold."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from gym_gui.tabs.catalogue import tabs_for
from tests.browser.stored_runs import HOSTILE, HOSTILE_RUN, HOSTILE_TAG

# A piece that must be seen as it was written.
SEEN = "<img src=x onerror='window.hacked=1'>"
TABS = [tab.title for tab in tabs_for("cleanrl")]


def expect_unharmed(page: Page) -> None:
    page.wait_for_timeout(300)  # an image that fails to load does so a little later
    assert page.evaluate("window.hacked") is None
    assert page.locator("img[src=x]").count() == 0


def test_every_tab_of_a_hostile_run(page: Page) -> None:
    page.goto(f"/runs/{HOSTILE_RUN}")
    for tab in TABS:
        page.get_by_role("tab", name=tab, exact=True).click()
        page.wait_for_timeout(250)
        expect_unharmed(page)
    assert SEEN in page.inner_text("body")


PATHS = [
    "/",
    "/runs",
    "/runs?group=1",
    f"/runs?q={SEEN}",
    f"/compare?runs={HOSTILE_RUN}&tag={HOSTILE_TAG}",
    f"/launch?clone={HOSTILE_RUN}",
    f"/launch?env_id={SEEN}&algo={SEEN}",
    f"/policies?text={SEEN}",
    f"/runs/{SEEN}",
]


def test_every_page_that_names_it(page: Page) -> None:
    for path in PATHS:
        page.goto(path)
        page.get_by_role("heading", level=1).or_(page.get_by_text("All runs")).first.wait_for()
        expect_unharmed(page)


def test_search_and_the_commands_of_a_hostile_run(page: Page) -> None:
    page.goto("/runs")
    page.keyboard.press("Control+k")
    # Not by its label: the page of runs has a search field of its own, and is there first.
    page.locator(".q-dialog input").fill(HOSTILE_RUN)
    expect(page.locator(".q-dialog a").first).to_contain_text(SEEN)
    page.keyboard.press("Escape")
    page.get_by_role("checkbox", name="Select every run shown").click()
    page.get_by_role("button", name="Commands").click()
    expect(page.get_by_text("The same as commands")).to_be_visible()
    expect_unharmed(page)


def test_the_log_shows_what_was_written_without_its_colours(page: Page) -> None:
    page.goto(f"/runs/{HOSTILE_RUN}?tab=logs")
    expect(page.locator(".nicegui-log")).to_contain_text(f"Error: {HOSTILE.splitlines()[0]}")
    expect(page.locator(".nicegui-log")).not_to_contain_text("[31m")
    expect_unharmed(page)
