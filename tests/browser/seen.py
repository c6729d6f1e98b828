"""What somebody sees on a page: states, curves and pictures, as the tests ask for them."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.gui_process import wait_until

# The picture of the first stream as it is at this moment.
_FRAME = """() => {
  const image = document.querySelector('img.mosaic-stream');
  if (!image || !image.naturalWidth) return '';
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  canvas.getContext('2d').drawImage(image, 0, 0);
  return canvas.toDataURL();
}"""
# How far the charts reach: the number of points may fall, where many become few.
_FURTHEST = """() => Math.max(-1, ...[...(window.mosaicChart?.data?.values() ?? [])]
  .map(lines => lines[2]?.at(-1)?.[0] ?? -1))"""
_SEAMS = """() => [...(window.mosaicChart?.data?.keys() ?? [])]
  .flatMap(id => getElement(id).chart.getOption().series[2].markLine.data.map(each => each.xAxis))
"""


def expect_state(page: Page, word: str) -> None:
    """Wait until the head of a run's page says how the run stands."""
    expect(page.locator(".mosaic-state").first).to_contain_text(word)


def open_run(page: Page, run_id: str) -> None:
    """Go to the page of a run that is training; its picture is a stream, and never ends."""
    page.goto(f"/runs/{run_id}", wait_until="commit")


def run_of(page: Page) -> str:
    """Wait for the page of a run, and return the run's id."""
    # Not until it has loaded: the picture of an agent is a stream, and never ends.
    page.wait_for_url("**/runs/*", wait_until="commit")
    return page.url.rpartition("/")[2].partition("?")[0]


def see_chart_move(page: Page) -> None:
    wait_until(lambda: _furthest(page) > 0, "a point in the chart")
    before = _furthest(page)
    wait_until(lambda: _furthest(page) > before, "more points in the chart")


def _furthest(page: Page) -> float:
    return float(page.evaluate(_FURTHEST))


def see_frames_move(page: Page) -> None:
    wait_until(lambda: page.evaluate(_FRAME), "a frame")
    before = page.evaluate(_FRAME)
    wait_until(lambda: page.evaluate(_FRAME) != before, "another frame")


def seams(page: Page) -> list[float]:
    """Return where the charts of a page say that one run took over from another."""
    return list(page.evaluate(_SEAMS))
