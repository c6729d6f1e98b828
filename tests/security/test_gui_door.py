"""The GUI's door: nobody without a session, nothing from a foreign page, whatever the method."""

from __future__ import annotations

import http.client
import itertools
import os
import socket
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mosaic.contracts.gui_access import LINK_LIFETIME_S, Access, cookie_name


@dataclass(frozen=True)
class Gui:
    port: int
    link: str
    var: Path

    def request(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: str = ""
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.putrequest(method, path, skip_host=True)
        given = {
            "Host": f"127.0.0.1:{self.port}",
            "Content-Length": str(len(body)),
            **(headers or {}),
        }
        if method == "POST":
            given["Content-Type"] = "application/x-www-form-urlencoded"
        for name, value in given.items():
            connection.putheader(name, value)
        connection.endheaders(body.encode())
        response = connection.getresponse()
        response.read()
        connection.close()
        return response

    def websocket_status(self, headers: dict[str, str]) -> int:
        """Ask for a websocket as a browser does, and return the status of the answer."""
        lines = [
            "GET /_nicegui_ws/socket.io/?EIO=4&transport=websocket HTTP/1.1",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Version: 13",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            return int(connection.recv(64).split()[1])

    def log_in(self) -> str:
        """Return the cookie that a fresh link is exchanged for."""
        token = urllib.parse.parse_qs(urllib.parse.urlsplit(self.fresh_link()).query)["token"][0]
        own = {"Origin": f"http://127.0.0.1:{self.port}"}
        answer = self.request("POST", "/login", own, f"token={token}")
        assert answer.status == 303
        return answer.headers["set-cookie"].partition(";")[0]

    def fresh_link(self) -> str:
        words = [sys.executable, "-m", "mosaic.cli", "gui", "--link"]
        environment = {**os.environ, "MOSAIC_VAR_DIR": str(self.var)}
        return subprocess.run(
            words, env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()


@pytest.fixture(scope="module")
def gui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gui]:
    var = tmp_path_factory.mktemp("gui") / "var"
    process = subprocess.Popen(
        [sys.executable, "-m", "gym_gui", "--no-browser", "--port", "0"],
        env={**os.environ, "MOSAIC_VAR_DIR": str(var)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    link = process.stdout.readline().strip()
    gui = Gui(int(urllib.parse.urlsplit(link).port or 0), link, var)
    yield gui
    process.terminate()
    process.wait(30)
    process.stdout.close()
    stop = [sys.executable, "-m", "mosaic.cli", "daemon", "stop"]
    subprocess.run(stop, env={**os.environ, "MOSAIC_VAR_DIR": str(var)}, check=False)


@pytest.mark.parametrize(
    ("host", "origin", "kind"),
    list(
        itertools.product(
            ["own", "localhost", "evil.example", "own:1", ""],
            ["own", "http://evil.example", "null", None],
            ["GET", "POST", "websocket"],
        )
    ),
)
def test_every_host_origin_and_method_with_a_valid_cookie(
    gui: Gui, session: str, host: str, origin: str | None, kind: str
) -> None:
    hosts = {"own": f"127.0.0.1:{gui.port}", "localhost": f"localhost:{gui.port}"}
    headers = {"Host": hosts.get(host, host.replace("own:1", "127.0.0.1:1")), "Cookie": session}
    if origin is not None:
        headers["Origin"] = origin.replace("own", f"http://{hosts['own']}")
    if kind == "websocket":
        status = gui.websocket_status(headers)
    else:
        status = gui.request(kind, "/", headers).status
    may_host = host in hosts
    may_origin = origin == "own" or (origin is None and kind == "GET")
    if may_host and may_origin:
        assert status == {"GET": 200, "POST": 405, "websocket": 101}[kind]
    else:
        assert status in {400, 403, 421}


@pytest.fixture(scope="module")
def session(gui: Gui) -> str:
    return gui.log_in()


@pytest.mark.parametrize(
    "path",
    ["/", "/runs", "/launch", "/system", "/_nicegui/nonsense", "/frames/x", "/nowhere", "/docs"],
)
def test_without_the_cookie_every_route_is_401(gui: Gui, path: str) -> None:
    assert gui.request("GET", path).status == 401
    forged = {"Cookie": f"{cookie_name(gui.port)}=00.11"}
    assert gui.request("GET", path, forged).status == 401
    own = {"Host": f"127.0.0.1:{gui.port}", "Origin": f"http://127.0.0.1:{gui.port}"}
    assert gui.websocket_status(own) == 403


def test_a_link_works_once_and_looking_at_it_does_not_use_it_up(gui: Gui) -> None:
    link = gui.fresh_link()
    path = link.partition(str(gui.port))[2]
    token = path.partition("token=")[2]
    own = {"Origin": f"http://127.0.0.1:{gui.port}"}
    assert gui.request("GET", path).status == 200
    assert gui.request("GET", path).status == 200
    first = gui.request("POST", "/login", own, f"token={token}")
    assert first.status == 303
    assert "HttpOnly" in first.headers["set-cookie"]
    assert "samesite=strict" in first.headers["set-cookie"].lower()
    assert gui.request("POST", "/login", own, f"token={token}").status == 401
    assert gui.request("GET", path).status == 401


def test_a_login_from_a_foreign_page_is_refused(gui: Gui) -> None:
    token = gui.fresh_link().partition("token=")[2]
    foreign = {"Origin": "http://evil.example"}
    assert gui.request("POST", "/login", foreign, f"token={token}").status == 403


def test_answers_cannot_be_framed_by_others(gui: Gui, session: str) -> None:
    headers = gui.request("GET", "/", {"Cookie": session}).headers
    assert headers["content-security-policy"] == "frame-ancestors 'self'"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        (["--host", "0.0.0.0"], "--allow-remote"),
        (["--host", "192.168.1.1"], "--allow-remote"),
        (["--port", "99999"], "--port=99999"),
        (["--prot", "1"], "--prot"),
    ],
)
def test_bad_flags_are_one_line(tmp_path: Path, flags: list[str], what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gym_gui", *flags],
        env={**os.environ, "MOSAIC_VAR_DIR": str(tmp_path / "var")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert what in line
    assert not (tmp_path / "var").exists()


def test_links_expire_and_sessions_outlive_a_restart() -> None:
    access = Access("secret")
    token = access.make_link_token(now=1000.0)
    assert access.is_good_link(token, now=1000.0 + LINK_LIFETIME_S - 1)
    assert not access.is_good_link(token, now=1000.0 + LINK_LIFETIME_S + 1)
    session = access.use_link(token, now=1001.0)
    assert session is not None
    assert Access("secret").is_session(session)
    assert not Access("other").is_session(session)
    for forged in ("", ".", "x", f"{session}x", session[1:]):
        assert not access.is_session(forged)
        assert not access.is_good_link(forged)
