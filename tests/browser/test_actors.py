"""Every other actor of the roster, from the browser to a finished run with its tabs."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.gui_process import GuiProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

_LONG_MS = 300_000


def test_a_bdi_agent_is_launched_watched_and_replayed(page: Page) -> None:
    page.goto("/launch?actor=spade_bdi")
    page.get_by_role("button", name="Launch", exact=True).click()
    page.wait_for_url(re.compile(r"/runs/\w+"), timeout=_LONG_MS)
    run = page.url.split("?")[0]
    page.goto(f"{run}?tab=live")
    expect(page.get_by_text(re.compile("A sample of the steps|The run has ended"))).to_be_visible(
        timeout=_LONG_MS
    )
    expect(page.get_by_text("succeeded").first).to_be_visible(timeout=_LONG_MS)
    page.goto(f"{run}?tab=replay")
    expect(page.get_by_text("The beginning of the episode.")).to_be_visible(timeout=_LONG_MS)
    page.get_by_role("button", name="One step on").click()
    expect(page.get_by_text("Intentions")).to_be_visible()
    expect(page.get_by_text("!reach")).to_be_visible()


def test_a_model_plays_and_its_answers_are_replayed(page: Page, gui: GuiProcess) -> None:
    done = gui.mosaic(
        *("train", "llm_player", "--env-id", "FrozenLake-v1", "--backend", "random"),
        *("--total-timesteps", "20", "--detach", "--json"),
    )
    run_id = json.loads(done)["run_id"]
    page.goto(f"/runs/{run_id}")
    expect(page.get_by_text("succeeded").first).to_be_visible(timeout=_LONG_MS)
    page.goto(f"/runs/{run_id}?tab=replay")
    expect(page.get_by_text("Answer of the model")).to_be_visible(timeout=_LONG_MS)


def test_a_person_plays_and_it_is_kept(page: Page) -> None:
    page.goto("/play")
    page.get_by_role("button", name="Start playing").click()
    expect(page.get_by_text("your move")).to_be_visible(timeout=_LONG_MS)
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("step 1:")).to_be_visible()
    page.get_by_role("button", name=re.compile("^left")).click()
    expect(page.get_by_text("step 2:")).to_be_visible()
    page.get_by_role("button", name="Stop and keep").click()
    page.wait_for_url(re.compile(r"/runs/\w+\?tab=replay"), timeout=_LONG_MS)
    expect(page.get_by_text(re.compile("Step 0: action 0"))).to_be_visible(timeout=_LONG_MS)


def test_two_actors_play_side_by_side(page: Page) -> None:
    page.goto("/compare")
    page.get_by_role("button", name="Side by side").click()
    page.get_by_label("Contenders").fill("random")
    page.get_by_label("Environment").fill("FrozenLake-v1")
    page.get_by_role("button", name="Let them play").click()
    expect(page.get_by_text("Name at least two contenders")).to_be_visible()
    page.get_by_label("Contenders").fill("random\nrandom")
    page.get_by_role("button", name="Let them play").click()
    expect(page.get_by_text("FrozenLake-v1, 10 episodes each, seeds 1 to 10.")).to_be_visible(
        timeout=_LONG_MS
    )
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.get_by_text("mosaic versus random random")).to_be_visible()
