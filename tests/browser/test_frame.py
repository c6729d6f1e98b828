"""What every page has: the rail, shortcuts, search, the theme, and room on a narrow screen."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from gym_gui.frame import PLACES
from tests.browser.gui_process import GuiProcess, wait_until


def test_every_place_by_two_keys(page: Page) -> None:
    page.goto("/runs")
    for place in PLACES:
        page.locator(".q-drawer").wait_for()
        page.keyboard.press("g")
        page.keyboard.press(place.key)
        page.wait_for_url(f"**{place.path}")
        expect(page.locator(".q-item--active")).to_contain_text(place.title)


def test_the_daemon_chip_and_the_list_of_shortcuts(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("button", name="daemon ok ·")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_text("Keyboard shortcuts")).to_be_visible()
    expect(page.get_by_text("Ctrl+K")).to_be_visible()


def test_a_page_is_found_by_its_name(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("Control+k")
    field = page.locator(".q-dialog input")
    field.fill("poli")
    expect(page.locator(".q-dialog a")).to_have_count(1)
    field.press("Enter")
    page.wait_for_url("**/policies")


def test_the_theme_turns_from_auto_to_light_to_dark_and_stays(gui: GuiProcess, page: Page) -> None:
    page.goto("/")
    page.emulate_media(color_scheme="dark")
    body = page.locator("body")
    button = page.get_by_role("button", name="Theme")
    seen = []
    for _ in range(3):
        button.click()
        page.wait_for_timeout(200)
        seen.append("body--dark" in (body.get_attribute("class") or ""))
    assert seen == [False, True, True]  # light, dark, auto: as the system has it
    button.click()
    kept = gui.paths.gui_browsers  # not in the directory from which it was started
    wait_until(lambda: "light" in "".join(each.read_text() for each in kept.iterdir()), "the file")
    page.goto("/runs")
    page.locator(".q-drawer").wait_for()
    assert "body--dark" not in (body.get_attribute("class") or "")
    button.click()
    button.click()


def test_no_page_compiles_its_styles(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/runs")
    page.locator(".q-drawer").wait_for()
    gap = "getComputedStyle(document.querySelector('.q-page-container .gap-4')).columnGap"
    assert page.evaluate(gap) == "16px"
    assert [url for url in asked if "tailwind" in url or "echart" in url] == []


NARROW = [place.path for place in PLACES] + ["/launch?form=resume", "/launch?form=evaluate"]


def test_no_page_is_wider_than_a_phone(gui: GuiProcess, browser: Browser) -> None:
    context = gui.log_in(browser, base_url=gui.base, viewport={"width": 360, "height": 740})
    page = context.new_page()
    for path in NARROW:
        page.goto(path)
        page.locator(".q-page-container").wait_for()
        page.wait_for_timeout(200)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360, f"{path} is {width} px wide"
    context.close()
