"""From the printed link to a comparison: what somebody does who has never seen the system."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.acts import cancel_past_a_checkpoint, checkpoints_of
from tests.browser.gui_process import TIMEOUT_S, GuiProcess, wait_until
from tests.browser.seen import (
    expect_state,
    run_of,
    seams,
    see_chart_move,
    see_frames_move,
)

MOST_CLICKS = 4


class Mouse:
    """Clicks, and counts them."""

    def __init__(self) -> None:
        self.clicks = 0

    def click(self, what: Locator) -> None:
        what.click()
        self.clicks += 1


@pytest.mark.timeout(400)
def test_from_the_link_to_a_comparison(gui: GuiProcess, browser: Browser) -> None:
    context = browser.new_context(base_url=gui.base)
    context.set_default_timeout(TIMEOUT_S * 1000)
    page = context.new_page()
    first = train(gui, page)
    see_chart_move(page)
    see_frames_move(page)
    cancel_past_a_checkpoint(gui, page, first)
    second = resume(gui, page, first)
    evaluate(page, first)
    third = train_again(page, {first, second})
    compare(page, first, third)
    delete_and_undo(page, third)
    context.close()


def train(gui: GuiProcess, page: Page) -> str:
    """Start a PPO that learns CartPole, with a few clicks from the link."""
    mouse = Mouse()
    page.goto(gui.link)
    mouse.click(page.get_by_role("button", name="Open MOSAIC"))
    mouse.click(page.get_by_role("button", name="Train PPO on CartPole (1 minute)"))
    run_id = run_of(page)
    expect_state(page, "running")
    assert mouse.clicks <= MOST_CLICKS
    told = json.loads(gui.mosaic("show", run_id, "--json"))
    assert (told["algo"], told["env_id"]) == ("ppo", "CartPole-v1")
    return run_id


def resume(gui: GuiProcess, page: Page, parent: str) -> str:
    """Go on, and see the curve of both runs with the seam between them."""
    page.get_by_role("button", name="Resume", exact=True).click()
    page.wait_for_url(lambda url: "/runs/" in url and parent not in url, wait_until="commit")
    run_id = run_of(page)
    expect_state(page, "running")
    expect(page.get_by_text("Resumed from")).to_be_visible()
    wait_until(lambda: seams(page), "the seam")
    steps = {int(path.stem.partition("-")[2]) for path in checkpoints_of(gui, parent)}
    assert seams(page)[0] in steps
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect_state(page, "cancelled")
    return run_id


def evaluate(page: Page, run_id: str) -> None:
    page.goto(f"/launch?form=evaluate&run={run_id}")
    page.get_by_label("Eval episodes per batch").fill("3")
    page.get_by_role("button", name="Load Trained Policy").click()
    run_of(page)
    expect_state(page, "succeeded")
    expect(page.get_by_text("over 3 episodes")).to_be_visible()
    expect(page.get_by_text("3 episodes played")).to_be_visible()


def train_again(page: Page, before: set[str]) -> str:
    page.goto("/")
    page.get_by_role("button", name="Train Agent").click()
    run_id = run_of(page)
    assert run_id not in before
    expect_state(page, "running")
    see_chart_move(page)
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect_state(page, "cancelled")
    return run_id


def compare(page: Page, *run_ids: str) -> None:
    """Select runs in the list and compare them: seeds are one curve."""
    page.goto("/runs")
    for run_id in run_ids:
        page.get_by_role("checkbox", name=f"Select {run_id}").click()
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_url("**/compare?runs=*")
    links = page.locator("a", has_text="seed ")
    expect(links).to_have_count(len(run_ids))
    expect(page.get_by_role("button", name="Leave out of the comparison")).to_have_count(1)


def delete_and_undo(page: Page, run_id: str) -> None:
    page.goto("/runs")
    box = page.get_by_role("checkbox", name=f"Select {run_id}")
    box.click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(box).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(box).to_be_visible()
