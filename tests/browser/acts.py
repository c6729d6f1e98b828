"""What several tests do to a run on its page."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

from tests.browser.gui_process import GuiProcess, wait_until
from tests.browser.seen import expect_state


def checkpoints_of(gui: GuiProcess, run_id: str) -> list[Path]:
    return list((gui.paths.run(run_id, "train").root / "checkpoints").glob("step-*.ckpt"))


def cancel_past_a_checkpoint(
    gui: GuiProcess, page: Page, run_id: str, timeout_s: float = 60.0
) -> None:
    """Cancel the run whose page is open, once it can be gone on from."""
    wait_until(lambda: checkpoints_of(gui, run_id), "a checkpoint", timeout_s)
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect_state(page, "cancelled")
