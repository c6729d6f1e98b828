"""The newest picture of what is being played, by HTTP: off the websocket that carries clicks."""

from __future__ import annotations

import base64
import secrets
from typing import Any

from fastapi import FastAPI
from fastapi.responses import Response

# Of every player that is open in some page, by a name that nobody guesses.
_pictures: dict[str, bytes] = {}


class Picture:
    """The picture of one player; a new one has another address, so that browsers ask for it."""

    def __init__(self) -> None:
        self._name = secrets.token_urlsafe(12)
        self._number = 0

    def show(self, payload: dict[str, Any]) -> str:
        """Take a picture in, and return its address."""
        _pictures[self._name] = base64.b64decode(payload["data"])
        self._number += 1
        return f"/played/{self._name}?n={self._number}"

    def close(self) -> None:
        _pictures.pop(self._name, None)


def add_played(app: FastAPI) -> None:
    """Add the route of the pictures."""

    @app.get("/played/{name}")
    def played(name: str) -> Response:
        picture = _pictures.get(name)
        if picture is None:
            return Response("This player has been closed.", 404, media_type="text/plain")
        return Response(picture, media_type="image/jpeg", headers={"cache-control": "no-store"})
