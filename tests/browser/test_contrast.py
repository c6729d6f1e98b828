"""WCAG AA on every page, in both themes: text stands out from what is behind it."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from playwright.sync_api import Browser

from gym_gui.frame import PLACES
from tests.browser.gui_process import GuiProcess
from tests.browser.stored_runs import HOSTILE_RUN

TABS = ("overview", "charts", "logs", "config", "checkpoints", "files", "live")
PAGES = [place.path for place in PLACES] + [f"/runs/{HOSTILE_RUN}?tab={tab}" for tab in TABS]
PAGES += ["/launch?form=resume", "/launch?form=evaluate", "/launch?form=script&policy=quick_test"]

# Texts that are seen, with their contrast where it is less than AA asks for. What is disabled is
# exempt, and so is a picture of something else.
_WEAK = """() => {
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], under) =>
    [r, g, b].map((part, index) => part * a + under[index] * (1 - a));
  const behind = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement)
      layers.push(numbers(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255]);
  };
  const light = colour => colour.map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, text = walker.currentNode.data.trim();
    if (!text || !element.checkVisibility({opacityProperty: true})) continue;
    if (element.closest('[disabled], .disabled, .q-field--disabled, [aria-hidden=true], iframe'))
      continue;
    const style = getComputedStyle(element), box = element.getBoundingClientRect();
    if (!box.width || element.closest('script, style')) continue;
    const ground = behind(element), ink = over(numbers(style.color), ground);
    const [dark, bright] = [light(ground), light(ink)].sort((a, b) => a - b);
    const size = parseFloat(style.fontSize), isBold = Number(style.fontWeight) >= 700;
    const least = size >= 24 || (isBold && size >= 18.66) ? 3 : 4.5;
    const contrast = (bright + 0.05) / (dark + 0.05);
    if (contrast < least - 0.01) found.push([text.slice(0, 40), contrast.toFixed(2), style.color]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(
    gui: GuiProcess, browser: Browser, scheme: Literal["light", "dark"]
) -> None:
    context = gui.log_in(browser, base_url=gui.base, color_scheme=scheme)
    page = context.new_page()
    weak: dict[str, Any] = {}
    for path in PAGES:
        page.goto(path, wait_until="commit")
        page.locator(".q-page-container [role=heading]").first.wait_for()
        page.wait_for_timeout(500)
        if found := page.evaluate(_WEAK):
            weak[path] = found
    pale = "rgba(128, 128, 128, 0.3)"
    page.evaluate(f"document.querySelector('[role=heading]').style.color = '{pale}'")
    assert page.evaluate(_WEAK), "what is weak is found"
    context.close()
    assert weak == {}
