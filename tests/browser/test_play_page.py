"""The page Play before a game: what is to be done, with which keys, and what was played before."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from mosaic.catalog.games import load_games


def test_a_game_says_what_to_do_before_it_is_played(page: Page) -> None:
    page.goto("/play")
    expect(page.get_by_text(load_games()["FrozenLake-v1"].goal)).to_be_visible()
    expect(page.get_by_text("It waits for a key.")).to_be_visible()
    expect(page.get_by_role("heading", name="Played before")).to_be_visible()
    # Other tests may have played in the same GUI.
    before = page.get_by_text(re.compile("Nobody has played yet|human on")).first
    expect(before).to_be_visible()


def test_another_game_takes_its_place(page: Page) -> None:
    page.goto("/play")
    field = page.get_by_label("Environment")
    field.fill("Taxi")
    page.get_by_role("option", name="Taxi-v4").first.click()
    expect(page.get_by_text(load_games()["Taxi-v4"].goal)).to_be_visible()
