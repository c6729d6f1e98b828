"""What the charts of a page share: data that may come before the library that draws it."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.browser.stored_runs import HOSTILE_RUN

_HELD = "mosaicChart.data.has(987654)"


def test_data_waits_for_its_chart_whatever_the_theme_does(page: Page) -> None:
    page.goto(f"/runs/{HOSTILE_RUN}?tab=charts")
    page.wait_for_function("window.mosaicChart !== undefined")
    page.evaluate("mosaicChart.tail(987654, [[0, []], [0, []], [0, [[1, 1]]], [0, []]])")
    page.evaluate("mosaicChart.repaint()")
    assert page.evaluate(_HELD), "its chart is still to come"
    page.evaluate("mosaicChart.drawn.add(987654); mosaicChart.repaint()")
    assert not page.evaluate(_HELD), "its chart was there, and has gone"
