"""Every other actor of the roster, from the browser to a finished run with its tabs."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.gui_process import GuiProcess
from tests.llm_worker.service import serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

_LONG_MS = 300_000
_KEY = "ca9a27ca9a27"


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
    with serving(lambda number, body: '{"actions": ["right"]}') as service:
        page.goto("/launch?actor=llm&env_id=FrozenLake-v1")
        page.get_by_label("Total timesteps").fill("20")
        page.get_by_label("base_url").fill(service.url)
        page.get_by_label("API key of the service").fill(_KEY)
        page.get_by_role("button", name="Launch", exact=True).click()
        page.wait_for_url(re.compile(r"/runs/\w+"), timeout=_LONG_MS)
        run = page.url.split("?")[0]
        expect(page.get_by_text("succeeded").first).to_be_visible(timeout=_LONG_MS)
    assert set(service.keys) == {f"Bearer {_KEY}"}
    page.goto(f"{run}?tab=replay")
    expect(page.get_by_text("Answer of the model")).to_be_visible(timeout=_LONG_MS)
    stored = [path for path in gui.var.rglob("*") if path.is_file() and not path.is_symlink()]
    assert not [path for path in stored if _KEY.encode() in path.read_bytes()]


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
