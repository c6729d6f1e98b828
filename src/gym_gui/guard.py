"""The door: plain ASGI, since nothing else sees websockets before they are accepted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from mosaic.contracts.gui_access import Access, cookie_name

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOGIN_PATH = "/login"

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    # Not "no-referrer": with it a form is sent with the origin "null".
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"content-security-policy", b"frame-ancestors 'self'"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


class Guard:
    """Let through what comes from our own pages and carries a session, and nothing else.

    `hosts` are the names, with the port, under which this GUI may be addressed: another one means
    that a foreign name was pointed at this machine.
    """

    def __init__(self, app: App, access: Access, hosts: Iterable[str], port: int) -> None:
        self._app = app
        self._access = access
        self._hosts = frozenset(host.lower() for host in hosts)
        self._cookie = cookie_name(port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await receive()  # "websocket.connect"
            await send({"type": "websocket.close", "code": 1008, "reason": refusal[1]})
        else:
            await _answer(send, *refusal)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return 421, f"This GUI is not {host!r}. Open it under the address that it printed."
        if not self._is_own_origin(scope, headers):
            return 403, "The request came from a page that is not this GUI's."
        if scope["path"] == LOGIN_PATH or self._has_session(headers.get("cookie", "")):
            return None
        return 401, "Not logged in. 'mosaic gui --link' prints a link."

    def _is_own_origin(self, scope: Scope, headers: dict[str, str]) -> bool:
        origin = headers.get("origin")
        is_reading = scope["type"] == "http" and scope["method"] in _SAFE_METHODS
        if origin is None:
            # Browsers send it with everything that acts; programs that do not are not browsers.
            return is_reading
        split = urlsplit(origin)
        return split.scheme in ("http", "https") and split.netloc.lower() in self._hosts

    def _has_session(self, header: str) -> bool:
        try:
            morsel = SimpleCookie(header).get(self._cookie)
        except CookieError:
            return False
        return morsel is not None and self._access.is_session(morsel.value)


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *_HEADERS]
        await send(message)

    return sending


async def _answer(send: Send, status: int, text: str) -> None:
    body = f"{text}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        *_HEADERS,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
