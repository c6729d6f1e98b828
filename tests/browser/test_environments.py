"""Environments and System in the browser: find a game, read about it, train there."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.gui_process import GuiProcess


def test_from_a_search_to_the_filled_form(page: Page) -> None:
    page.goto("/environments")
    page.get_by_role("button", name=re.compile(r"^Atari \(")).click()
    page.get_by_label("Search", exact=True).fill("bricks paddle")
    expect(page.get_by_role("status")).to_contain_text("1 environment.")
    assert "family=atari" in page.url
    assert "text=bricks" in page.url
    page.get_by_role("link", name="Breakout").click()
    expect(page.get_by_role("heading", name="Breakout")).to_be_visible()
    picture = page.get_by_alt_text("A picture of Breakout")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") > 0
    expect(page.get_by_role("cell", name="LEFT", exact=True).first).to_be_visible()
    page.get_by_role("button", name="Train here").click()
    page.wait_for_url("**/launch?*")
    expect(page.get_by_label("Environment id")).to_have_value("ALE/Breakout-v5")


def test_an_address_shows_what_it_says(page: Page) -> None:
    page.goto("/environments?family=mujoco&play=1")
    expect(page.get_by_text("None is as you ask. Leave out a filter.")).to_be_visible()
    page.get_by_role("switch", name="A person can play it").click()
    expect(page.get_by_role("status")).to_contain_text("11 environments.")
    page.goto("/environments/Nothing-v0")
    unknown = page.get_by_text("No environment is called 'Nothing-v0'.")
    expect(unknown).to_be_visible(timeout=60_000)  # the packages are asked first


def test_the_form_has_the_page_beside_it(page: Page) -> None:
    page.goto("/launch?algo=ppo&env_id=CartPole-v1")
    page.get_by_role("button", name="About it").click()
    expect(page.get_by_role("heading", name="CartPole")).to_be_visible()
    page.get_by_label("Environment id").fill("Acrobot-v1")
    expect(page.get_by_role("heading", name="Acrobot")).to_be_visible()
    page.get_by_label("Environment id").fill("mine-v0")
    expect(page.get_by_text("No page is known for this id.")).to_be_visible()


def test_system_tells_of_daemon_doctor_and_workers(gui: GuiProcess, page: Page) -> None:
    page.goto("/system")
    expect(page.get_by_text(str(gui.var), exact=True)).to_be_visible()
    expect(page.get_by_text(re.compile(r"^\d+ checks passed$"))).to_be_visible(timeout=60_000)
    expect(page.get_by_text(re.compile(r"^CleanRL Worker "))).to_be_visible()
    expect(page.get_by_text("env_modules: nothing")).to_be_visible()
    expect(page.get_by_text("answers", exact=True)).to_be_visible()
