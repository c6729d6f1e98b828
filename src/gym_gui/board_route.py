"""The way to a TensorBoard: under our own address, and so behind the guard's checks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from gym_gui.boards import PREFIX, Board, Boards

if TYPE_CHECKING:
    import httpx

# What is handed on. Cookies are ours, and none of TensorBoard's business.
_ASKED = frozenset(
    {"accept", "accept-encoding", "content-type", "if-modified-since", "if-none-match", "range"}
)
_ANSWERED = frozenset(
    {
        *("cache-control", "content-disposition", "content-encoding", "content-length"),
        *("content-range", "content-security-policy", "content-type", "etag", "expires"),
        *("last-modified", "location"),
    }
)
_LARGEST_REQUEST_BYTES = 8 << 20


def add_boards(app: FastAPI, boards: Boards) -> None:
    """Add the routes of the TensorBoards: /tensorboard/KEY/..."""

    @app.api_route(PREFIX + "{key}/{rest:path}", methods=["GET", "HEAD", "POST"])
    async def board(key: str, rest: str, request: Request) -> Response:
        found = boards.find(key)
        if found is None:
            return PlainTextResponse(
                "This TensorBoard was stopped, since nobody looked at it. Open its tab again.\n",
                status_code=404,
            )
        found.touch()
        return await _hand_on(found, rest, request)

    @app.get("/font-roboto/{name}")
    async def font(name: str, request: Request) -> Response:
        """Hand out TensorBoard's fonts, which its style sheet looks for at the root."""
        found = boards.newest()
        if found is None:
            return PlainTextResponse("No TensorBoard is open.\n", status_code=404)
        return await _hand_on(found, f"font-roboto/{name}", request)


async def _hand_on(board: Board, rest: str, request: Request) -> Response:
    import httpx

    body = await _body(request)
    if body is None:
        return PlainTextResponse("The request is too large.\n", status_code=413)
    asked = board.client.build_request(
        request.method,
        httpx.URL(path=board.address + rest, query=request.url.query.encode()),
        headers=_chosen(request.headers.items(), _ASKED),
        content=body,
    )
    try:
        answer = await board.client.send(asked, stream=True)
    except httpx.TransportError as error:
        why = "it takes too long" if isinstance(error, httpx.TimeoutException) else "it has ended"
        return PlainTextResponse(f"TensorBoard does not answer: {why}.\n", status_code=502)
    return StreamingResponse(
        _pieces(answer),
        status_code=answer.status_code,
        headers=_chosen(answer.headers.items(), _ANSWERED),
    )


async def _body(request: Request) -> bytes | None:
    """Return the body of a request; None for one that is too large."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _LARGEST_REQUEST_BYTES:
            return None
    return bytes(body)


async def _pieces(answer: httpx.Response) -> AsyncIterator[bytes]:
    """Yield the body as it comes, compressed if it is, and close it when the reader leaves."""
    try:
        async for piece in answer.aiter_raw():
            yield piece
    finally:
        await answer.aclose()


def _chosen(headers: Iterable[tuple[str, str]], names: frozenset[str]) -> Mapping[str, str]:
    return {name: value for name, value in headers if name.lower() in names}
