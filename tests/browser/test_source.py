"""The switch of the train form: MOSAIC's recipes, or the scripts of a CleanRL checkout."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from gym_gui.forms.source import CHECKOUT, RECIPES
from tests.browser.gui_process import GuiProcess
from tests.cleanrl_worker.upstream.conftest import CHECKOUT as HOME

SCRIPT = re.compile("cleanrl:tiny: ")


@pytest.fixture
def allowed(gui: GuiProcess) -> Iterator[None]:
    before = gui.paths.settings.read_text()
    gui.paths.settings.write_text(f'{before}\n[allow]\ncheckouts = ["{HOME}"]\n')
    yield
    gui.paths.settings.write_text(before)


def test_the_fields_are_those_of_the_script(gui: GuiProcess, page: Page, allowed: None) -> None:
    page.goto("/launch?form=train")
    page.get_by_role("button", name=CHECKOUT).click()
    page.wait_for_url("**home=**")
    expect(page.get_by_label("Algorithm", exact=True)).to_have_value(SCRIPT, timeout=15000)
    expect(page.get_by_label("num_steps")).to_have_value("10")
    expect(page.get_by_text("mosaic bundle create cleanrl --cleanrl")).to_be_visible()
    page.get_by_role("button", name=RECIPES).click()
    expect(page.get_by_text("Use tuned values")).to_be_visible()


def test_without_a_checkout_the_form_says_how_one_is_allowed(gui: GuiProcess, page: Page) -> None:
    page.goto("/launch?form=train&home=none")
    expect(page.get_by_text("No checkout is allowed yet")).to_be_visible()
