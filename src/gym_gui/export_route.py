"""A run as one file to download, sent while the daemon makes it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fastapi import FastAPI
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from gym_gui.live import Live
from mosaic.contracts.errors import MosaicError


def export_address(run_id: str, *, with_checkpoints: bool = False) -> str:
    return f"/run-export/{run_id}" + ("?checkpoints=1" if with_checkpoints else "")


def add_export(app: FastAPI, live: Live) -> None:
    """Add the route of the archives: /run-export/RUN."""

    @app.get("/run-export/{run_id}")
    async def run_export(run_id: str, checkpoints: bool = False) -> Response:
        try:
            client = live.need_client()
            run = (await client.get_run(run_id)).run
            pieces = client.export(run.run_id, with_checkpoints=checkpoints)
            # The first piece tells whether the daemon refuses.
            first = await anext(pieces)
        except MosaicError as error:
            return PlainTextResponse(error.one_line(), status_code=404)

        async def body() -> AsyncIterator[bytes]:
            yield first
            async for piece in pieces:
                yield piece

        name = f"{run.run_id}.zip"
        return StreamingResponse(
            body(),
            media_type="application/zip",
            headers={"content-disposition": f'attachment; filename="{name}"'},
        )
