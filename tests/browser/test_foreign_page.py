"""A page that the user visits cannot act on the GUI, though the browser would send the cookie.

The foreign page is on the same host and another port: for SameSite cookies that is the same site,
so the guard alone stands between it and the GUI.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.gui_process import GuiProcess


class _Foreign(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Kittens</title><h1>Kittens</h1>")

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def foreign() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Foreign)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def kittens(gui: GuiProcess, browser: Browser, foreign: str) -> Iterator[Page]:
    """The foreign page, in the browser of somebody who is logged in to the GUI."""
    context = gui.log_in(browser)
    own = context.new_page()
    own.goto(gui.base)  # the cookie works
    assert own.title().startswith("Home")
    page = context.new_page()
    page.goto(foreign)
    yield page
    context.close()


def test_its_websocket_is_refused(gui: GuiProcess, kittens: Page) -> None:
    address = gui.base.replace("http", "ws") + "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    opened = """address => new Promise(done => {
      const socket = new WebSocket(address);
      socket.onopen = () => done(true);
      socket.onerror = socket.onclose = () => done(false);
    })"""
    assert kittens.evaluate(opened, address) is False


def test_its_posts_change_nothing_and_its_reads_tell_nothing(
    gui: GuiProcess, kittens: Page
) -> None:
    before = gui.mosaic("ps", "--all", "--json")
    asked = """async ([address, method, mode]) => {
      try {
        const answer = await fetch(address, {method, mode, credentials: 'include'});
        return answer.type === 'opaque' ? 'opaque' : await answer.text();
      } catch { return 'refused'; }
    }"""
    paths = ["/", "/login", "/launch", "/_nicegui_ws/socket.io/?EIO=4"]
    for path, method, mode in itertools.product(paths, ("GET", "POST"), ("cors", "no-cors")):
        assert kittens.evaluate(asked, [gui.base + path, method, mode]) in ("refused", "opaque")
    assert json.loads(gui.mosaic("ps", "--all", "--json")) == json.loads(before)


def test_it_cannot_frame_the_gui_under_its_own_buttons(gui: GuiProcess, kittens: Page) -> None:
    kittens.evaluate(
        "address => { const frame = document.createElement('iframe'); frame.src = address;"
        " document.body.append(frame); }",
        f"{gui.base}/launch",
    )
    kittens.wait_for_timeout(1500)
    framed = [frame for frame in kittens.frames if frame != kittens.main_frame]
    assert all(frame.locator("text=Launch").count() == 0 for frame in framed)


def test_a_form_that_it_sends_is_refused(gui: GuiProcess, kittens: Page) -> None:
    with kittens.expect_response(f"{gui.base}/login") as caught:
        kittens.evaluate(
            "address => { const form = document.createElement('form'); form.method = 'post';"
            " form.action = address; document.body.append(form); form.submit(); }",
            f"{gui.base}/login",
        )
    assert caught.value.status == 403


def test_what_it_opens_it_cannot_reach(gui: GuiProcess, kittens: Page) -> None:
    reached = kittens.evaluate(
        """async address => {
          const other = window.open(address);
          // Until it has the address it is an empty page of the opener's own.
          for (let tries = 0; tries < 600; tries++) {
            if (other.closed) return 'out of reach';
            try {
              if (other.document.URL !== 'about:blank') return 'reached';
            } catch { return 'out of reach'; }
            await new Promise(done => setTimeout(done, 100));
          }
          return 'never opened';
        }""",
        f"{gui.base}/launch",
    )
    assert reached == "out of reach"
