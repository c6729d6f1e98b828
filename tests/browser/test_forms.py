"""The forms: bad input is told beside the field, a dry run starts nothing, commands do the same."""

from __future__ import annotations

import json
import shlex
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.gui_process import GuiProcess, wait_until
from tests.browser.seen import expect_state

SHORT = ["--env-id", "CartPole-v1", "--total-timesteps", "2048", "--detach", "--json"]


def count_runs(gui: GuiProcess) -> int:
    return len(json.loads(gui.mosaic("ps", "--all", "--json")))


WRONG = [
    ("Total timesteps", "-5", "total_timesteps=-5 is not allowed"),
    ("Total timesteps", "", "total_timesteps"),
    ("Total timesteps", "1e400", "total_timesteps"),
    ("learning_rate", "nan", "learning_rate"),
    ("num_envs", "eight", "num_envs"),
    ("num_envs", "٣٤٥٦٧٨٩٠١٢٣", "num_envs"),
    ("Seed, or seeds", "1,,2", "seeds"),
]


def test_a_wrong_field_says_so_and_nothing_is_launched(gui: GuiProcess, page: Page) -> None:
    before = count_runs(gui)
    for label, text, told in WRONG:
        page.goto("/launch")
        page.get_by_label(label).first.fill(text)
        expect(page.locator(".q-field--error")).to_contain_text(told)
        page.get_by_role("button", name="Launch", exact=True).click()
        expect(page.locator(".q-notification")).to_contain_text(told)
    assert count_runs(gui) == before


def test_validate_only_shows_what_it_found_and_keeps_the_form(gui: GuiProcess, page: Page) -> None:
    before = count_runs(gui)
    page.goto("/launch")
    page.get_by_role("button", name="Validate only (skip training)").click()
    expect(page.get_by_text("The dry run passed")).to_be_visible()
    for cost in ("Memory", "Disk", "Time"):
        expect(page.locator(".mosaic-muted").get_by_text(cost, exact=True)).to_be_visible()
    assert "/launch" in page.url
    assert count_runs(gui) == before


def test_launch_refuses_what_the_dry_run_refuses(gui: GuiProcess, page: Page) -> None:
    before = count_runs(gui)
    page.goto("/launch")
    page.get_by_label("Environment id").fill("NoSuchGame-v0")
    page.get_by_role("button", name="Launch", exact=True).click()
    expect(page.get_by_text("The dry run failed (exit code 2)")).to_be_visible()
    assert count_runs(gui) == before


def test_the_command_on_the_config_tab_makes_the_same_run(gui: GuiProcess, page: Page) -> None:
    run_id = json.loads(gui.mosaic("train", "ppo", *SHORT, "--learning-rate", "0.002"))["run_id"]
    page.goto(f"/runs/{run_id}?tab=config")
    expect_state(page, "succeeded")
    page.reload()
    command = page.get_by_text("mosaic train ppo").first
    expect(command).to_be_visible()
    words = shlex.split(command.inner_text())
    again = json.loads(gui.mosaic(*words[1:], "--json"))["run_id"]
    assert settings(gui, again) == settings(gui, run_id)
    wait_until(lambda: outcome(gui, again) == "succeeded", "the second run")
    assert last_return(gui, again) == last_return(gui, run_id)


def settings(gui: GuiProcess, run_id: str) -> dict[str, Any]:
    """Return what a run was told, without what is its own; a seed that was drawn is known later."""
    config = json.loads(gui.mosaic("show", run_id, "--config"))["metadata"]["worker"]["config"]
    own = ("run_id", "worker_id", "seed")
    return {name: value for name, value in config.items() if name not in own}


def outcome(gui: GuiProcess, run_id: str) -> str:
    return str(json.loads(gui.mosaic("show", run_id, "--json"))["outcome"])


def last_return(gui: GuiProcess, run_id: str) -> float:
    return float(json.loads(gui.mosaic("show", run_id, "--json"))["last_return"])
