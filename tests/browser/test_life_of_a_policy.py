"""Train, cancel, resume, evaluate, play: one policy's life in the browser, for five algorithms."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.acts import cancel_past_a_checkpoint
from tests.browser.gui_process import GuiProcess
from tests.browser.seen import expect_state, run_of
from tests.policy_lives import LIVES, LONG, Life

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PATIENCE_S = 240.0
PATIENCE_MS = PATIENCE_S * 1000


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.algo)
def test_the_life_of_a_policy(gui: GuiProcess, page: Page, life: Life) -> None:
    page.set_default_timeout(PATIENCE_MS)
    first = train(page, life)
    cancel_past_a_checkpoint(gui, page, first, PATIENCE_S)
    second = resume(page, first)
    cancel_past_a_checkpoint(gui, page, second, PATIENCE_S)
    told = json.loads(gui.mosaic("show", second, "--json"))
    assert (told["parent_run_id"], told["algo"]) == (first, life.algo)
    evaluate(page, second)
    play(page, second)


def train(page: Page, life: Life) -> str:
    page.goto(f"/launch?form=train&algo={life.algo}&env_id={life.env_id}")
    page.get_by_label("Total timesteps").first.fill(str(LONG))
    page.get_by_label("Seed, or seeds").fill("1")
    for name, value in life.settings.items():
        page.get_by_label(name, exact=True).fill(str(value))
    page.get_by_text("Saving", exact=True).click()
    page.get_by_label("Checkpoint interval").fill(str(life.interval))
    page.get_by_role("button", name="Launch", exact=True).click()
    run_id = run_of(page)
    expect_state(page, "running")
    return run_id


def resume(page: Page, parent: str) -> str:
    """Go on from the checkpoint that the form proposes: the last exact one."""
    page.goto(f"/launch?form=resume&run={parent}")
    expect(page.get_by_text("None: it goes on as it was.")).to_be_visible()
    page.get_by_role("button", name="Resume", exact=True).click()
    page.wait_for_url(lambda url: "/runs/" in url and parent not in url, wait_until="commit")
    run_id = run_of(page)
    expect_state(page, "running")
    expect(page.get_by_text("Resumed from")).to_be_visible()
    return run_id


def evaluate(page: Page, run_id: str) -> None:
    page.goto(f"/launch?form=evaluate&run={run_id}")
    page.get_by_label("Eval episodes per batch").fill("3")
    page.get_by_label("Eval max episode steps").fill("50")
    page.get_by_role("button", name="Load Trained Policy").click()
    run_of(page)
    expect(page.locator(".mosaic-state").first).to_contain_text("succeeded", timeout=PATIENCE_MS)
    expect(page.get_by_text("over 3 episodes")).to_be_visible()


def play(page: Page, run_id: str) -> None:
    """Let the policy step, and see that a seed begins an episode anew."""
    page.goto(f"/policies/play?run={run_id}")
    see_step(page, 0)
    page.get_by_role("button", name="Step").click()
    see_step(page, 1)
    page.get_by_label("Seed").fill("7")
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_text("Seed 7.")).to_be_visible()
    page.get_by_role("button", name="Step").click()
    see_step(page, 1)


def see_step(page: Page, number: int) -> None:
    place = page.get_by_text(re.compile(rf"episode \d+ · step {number}\b"))
    expect(place).to_be_visible(timeout=PATIENCE_MS)
