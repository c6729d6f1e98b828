"""Files that never change are answered from memory, and nothing else is."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from gym_gui.assets import AssetCache

IMMUTABLE = [(b"cache-control", b"public, immutable")]


class Counted:
    """An application that counts what it is asked, and answers in two pieces."""

    def __init__(self, headers: list[tuple[bytes, bytes]], status: int = 200) -> None:
        self.asked = 0
        self._headers = headers
        self._status = status

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked += 1
        await send(
            {"type": "http.response.start", "status": self._status, "headers": self._headers}
        )
        await send({"type": "http.response.body", "body": b"first ", "more_body": True})
        await send({"type": "http.response.body", "body": scope["path"].encode()})


def ask(
    app: AssetCache, path: str = "/a.js", *, left: bool = False, **headers: str
) -> tuple[int, bytes]:
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        # As the guard does, which stands around the cache.
        message["headers"] = [*message.get("headers", ()), (b"added", b"once")]
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        assert left, "a file is asked for without a body"
        return {"type": "http.disconnect"}

    pairs = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    scope = {"type": "http", "method": "GET", "path": path, "headers": pairs}
    asyncio.run(app(scope, receive, send))
    assert sum(name == b"added" for name, _ in sent[0]["headers"]) == 1
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


def test_a_file_that_never_changes_is_asked_for_once() -> None:
    inner = Counted(IMMUTABLE)
    app = AssetCache(inner)
    assert [ask(app) for _ in range(3)] == [(200, b"first /a.js")] * 3
    assert inner.asked == 1
    assert ask(app, "/b.js") == (200, b"first /b.js")
    assert ask(app, accept_encoding="gzip") == (200, b"first /a.js")
    assert ask(app, range="bytes=0-1") == (200, b"first /a.js")  # the application's to answer
    assert inner.asked == 4


@pytest.mark.parametrize(
    "inner", [Counted([]), Counted(IMMUTABLE, 404), Counted([(b"cache-control", b"no-store")])]
)
def test_what_may_change_is_asked_for_each_time(inner: Counted) -> None:
    app = AssetCache(inner)
    ask(app)
    ask(app)
    assert inner.asked == 2


class CutShort:
    """An application whose first answer ends in the middle, as for a browser that left."""

    def __init__(self, headers: list[tuple[bytes, bytes]]) -> None:
        self._headers = headers
        self._is_first = True

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self._headers})
        await send({"type": "http.response.body", "body": b"first ", "more_body": True})
        if self._is_first:
            self._is_first = False
            await receive()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        await send({"type": "http.response.body", "body": b"last"})
        await receive()  # what comes after the end of an answer says nothing


@pytest.mark.parametrize("length", [[], [(b"content-length", b"10")]])
def test_half_an_answer_is_not_kept(length: list[tuple[bytes, bytes]]) -> None:
    app = AssetCache(CutShort([*IMMUTABLE, *length]))
    assert ask(app, left=True) == (200, b"first ")
    assert [ask(app, left=True) for _ in range(2)] == [(200, b"first last")] * 2
    assert ask(app) == (200, b"first last"), "from memory by now"


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gym_gui.assets._MOST_BYTES", 30)
    inner = Counted(IMMUTABLE)
    app = AssetCache(inner)
    for number in range(100):
        ask(app, f"/{number}.js")
    ask(app, "/0.js")
    ask(app, "/99.js")
    assert inner.asked == 101
