"""The life of a policy in the browser: trained, cancelled, resumed, evaluated, played."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.gui_process import GuiProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PATIENCE_MS = 120_000


def ask(gui: GuiProcess, *words: str) -> Any:
    return json.loads(gui.mosaic(*words, "--json"))


def test_a_policy_is_resumed_evaluated_and_played(gui: GuiProcess, page: Page) -> None:
    flags = ("--env-id", "CartPole-v1", "--total-timesteps", "4096", "--seed", "1")
    run_id = ask(gui, "train", "ppo", *flags)["run_id"]

    page.goto(f"/launch?form=resume&run={run_id}")
    page.get_by_label("Extra timesteps").fill("2048")
    expect(page.get_by_text("total_timesteps: 4096 → 6144")).to_be_visible()
    page.get_by_role("button", name="Resume", exact=True).click()
    page.wait_for_url(re.compile(r"/runs/"), timeout=PATIENCE_MS, wait_until="commit")
    child = page.url.rsplit("/", 1)[1].split("?")[0]
    expect(page.get_by_text("succeeded").first).to_be_visible(timeout=PATIENCE_MS)

    page.goto(f"/launch?form=evaluate&run={child}")
    page.get_by_role("button", name="Load Trained Policy").click()
    page.wait_for_url(re.compile(r"/runs/"), timeout=PATIENCE_MS, wait_until="commit")
    page.goto(page.url.split("?")[0] + "?tab=evaluation")
    expect(page.get_by_text("95 % interval of the mean")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("Worst episode")).to_be_visible()

    page.goto(f"/policies/play?run={child}")
    place = page.get_by_text(re.compile(r"episode 0 · step 0"))
    expect(place).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_role("button", name="Step").click()
    expect(page.get_by_text(re.compile(r"episode 0 · step 1"))).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text(re.compile(r"episode 0 · step 2"))).to_be_visible()
    page.get_by_label("Seed").fill("7")
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_text("Seed 7.")).to_be_visible()
