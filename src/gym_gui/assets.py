"""Files that never change under their address, kept in memory as they were sent first.

A page asks for about twenty of them at once. Reading and compressing them anew took most of the
time until an empty browser could show its first page.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from gym_gui.guard import App, Receive, Scope, Send

# All that the pages of this GUI load takes a third of it; addresses nobody serves are not kept.
_MOST_BYTES = 4_000_000

_Key = tuple[str, bytes, bytes]


class AssetCache:
    """Answer again what was once answered with "immutable", without asking the application."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._kept: dict[_Key, list[MutableMapping[str, Any]]] = {}
        self._bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        key = (scope["path"], scope.get("query_string", b""), headers.get(b"accept-encoding", b""))
        kept = self._kept.get(key)
        if kept is not None and b"range" not in headers:
            for message in kept:
                await send(dict(message))
            return
        await self._ask(key, scope, receive, send)

    async def _ask(self, key: _Key, scope: Scope, receive: Receive, send: Send) -> None:
        answer: list[MutableMapping[str, Any]] = []
        is_kept = False
        has_left = False

        async def receiving() -> MutableMapping[str, Any]:
            # Of a browser that left in the middle the answer is cut short, and ends all the same.
            nonlocal has_left
            message = await receive()
            has_left = has_left or (message["type"] == "http.disconnect" and not _is_ended(answer))
            return message

        async def sending(message: MutableMapping[str, Any]) -> None:
            nonlocal is_kept
            if message["type"] == "http.response.start":
                is_kept = _is_immutable(message)
            if is_kept:
                answer.append(dict(message))
            await send(message)

        await self._app(scope, receiving, sending)
        if is_kept and not has_left and _is_whole(answer):
            self._keep(key, answer)

    def _keep(self, key: _Key, answer: list[MutableMapping[str, Any]]) -> None:
        body = b"".join(message.get("body", b"") for message in answer[1:])
        if key not in self._kept and self._bytes + len(body) <= _MOST_BYTES:
            self._bytes += len(body)
            self._kept[key] = [answer[0], {"type": "http.response.body", "body": body}]


def _is_immutable(start: MutableMapping[str, Any]) -> bool:
    headers = dict(start["headers"])
    return start["status"] == 200 and b"immutable" in headers.get(b"cache-control", b"")


def _is_whole(answer: list[MutableMapping[str, Any]]) -> bool:
    """Say whether the answer is as long as it said; a compressed one does not say it."""
    promised = dict(answer[0]["headers"]).get(b"content-length")
    length = sum(len(message.get("body", b"")) for message in answer[1:])
    return _is_ended(answer) and (promised is None or int(promised) == length)


def _is_ended(answer: list[MutableMapping[str, Any]]) -> bool:
    return len(answer) > 1 and not answer[-1].get("more_body", False)
