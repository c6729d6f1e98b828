"""The dashboards of a run while it goes on: TensorBoard, W&B's own files, and a sweep's trials."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.gui_process import GuiProcess, wait_until
from tests.browser.seen import expect_state

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

_LONG_MS = 180_000
STUDY = "seen-in-a-browser"


def begin(gui: GuiProcess, *words: str) -> str:
    told = gui.mosaic(
        *("train", "ppo", "--env-id", "CartPole-v1", "--fastlane-video-mode", "off"),
        *("--total-timesteps", "3000000", "--seed", "1", "--detach", "--json", *words),
    )
    return str(json.loads(told)["run_id"])


def end(gui: GuiProcess, page: Page, run_id: str) -> None:
    gui.mosaic("cancel", run_id)
    page.goto(f"/runs/{run_id}")
    expect_state(page, "cancelled")


def test_tensorboard_draws_the_scalars_of_a_running_run(page: Page, gui: GuiProcess) -> None:
    run_id = begin(gui)
    page.goto(f"/runs/{run_id}?tab=tensorboard")
    board = page.frame_locator("iframe[title=TensorBoard]")
    expect(board.get_by_text(re.compile(run_id)).first).to_be_visible(timeout=_LONG_MS)
    board.get_by_role("combobox", name=re.compile("Filter tags")).fill("episodic_return")
    card = board.locator("scalar-card").first
    expect(card).to_contain_text("episodic_return")
    expect(card.locator("canvas, svg path").first).to_be_visible()
    expect_state(page, "running")
    page.goto(f"/runs/{run_id}?tab=live")
    expect(page.get_by_text("live telemetry not available")).to_be_visible()
    end(gui, page, run_id)


def test_an_offline_run_of_wandb_shows_its_curves(page: Page, gui: GuiProcess) -> None:
    run_id = begin(gui, "--track-wandb", "--wandb-mode", "offline", "--wandb-project", "demo")
    page.goto(f"/runs/{run_id}?tab=wandb")
    expect(page.get_by_text(f"demo/{run_id}, tracked offline")).to_be_visible(timeout=_LONG_MS)
    expect(page.get_by_text("charts/episodic_return").first).to_be_visible(timeout=_LONG_MS)
    expect(page.locator("canvas").first).to_be_visible()
    expect(page.get_by_role("button", name="Sync now")).to_be_visible()
    expect(page.get_by_text(re.compile("^wandb sync"))).to_be_visible()
    end(gui, page, run_id)


def test_a_sweep_shows_its_trials_sorted_while_it_goes_on(page: Page, gui: GuiProcess) -> None:
    gui.mosaic(
        *("sweep", "ppo", "--env-id", "CartPole-v1", "--trials", "200", "--parallel", "2"),
        *("--total-timesteps", "2000", "--pruner", "none", "--study", STUDY, "--detach"),
    )
    page.goto("/sweeps")
    expect(page.get_by_text(re.compile("under way, 3 complete"))).to_be_visible(timeout=_LONG_MS)
    page.get_by_role("link", name=STUDY).click()
    expect(page.get_by_text(re.compile("charts/episodic_return: under way"))).to_be_visible()
    shown = scores(page)
    assert len(shown) >= 3
    assert shown == sorted(shown, reverse=True)
    page.get_by_role("button", name="Stop").click()
    wait_until(lambda: "under way" not in gui.mosaic("sweep", "--list"), "the end of the sweep")


def scores(page: Page) -> list[float]:
    """Return the objective of the complete trials, in the order of the table."""
    rows = page.locator("tbody tr").all_inner_texts()
    words = [row.split() for row in rows]
    return [float(row[row.index("complete") - 1]) for row in words if "complete" in row]
