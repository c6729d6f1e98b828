"""The desktop window opens the link and shows what a browser would."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from gym_gui.login import add_login
from gym_gui.native import open_window
from mosaic.contracts.gui_access import Access

# What the page shows is sent back by the page itself.
_TELL = """<script>fetch('/seen?' + encodeURIComponent(document.querySelector('button').innerText))
</script></body>"""


async def login_page() -> str:
    access = Access("secret")
    app = FastAPI()
    add_login(app, access, 1)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as client:
        return (await client.get("/login", params={"token": access.make_link_token()})).text


@pytest.fixture
def seen() -> Iterator[tuple[str, queue.Queue[str]]]:
    """A server with the login page, and what was seen of it."""
    found: queue.Queue[str] = queue.Queue()
    page = asyncio.run(login_page()).replace("</body>", _TELL).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            if path == "/seen":
                found.put(urllib.parse.unquote(query))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/login?token=x", found
    server.shutdown()
    server.server_close()


@pytest.mark.needs_system("qt6")
def test_a_window_shows_the_login(
    seen: tuple[str, queue.Queue[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("webview")
    link, found = seen
    for name, value in (
        ("QT_QPA_PLATFORM", "offscreen"),
        ("QTWEBENGINE_DISABLE_SANDBOX", "1" if os.getuid() == 0 else "0"),
        ("PYWEBVIEW_GUI", "qt"),
    ):
        monkeypatch.setenv(name, value)
    window = open_window(link)
    try:
        assert found.get(timeout=60) == "Open MOSAIC"
        assert window.poll() is None
    finally:
        window.terminate()
        window.wait(20)
