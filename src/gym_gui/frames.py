"""Live frames for browsers: read once, encoded once, handed to everybody who looks.

A picture that nobody has asked for is not read. The stream is multipart JPEG on a route of its own:
frames must not queue before the clicks on NiceGUI's websocket.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from fastapi import FastAPI
from fastapi.responses import Response, StreamingResponse

from mosaic.contracts.errors import ConfigError, MosaicError
from mosaic.contracts.identifiers import check_run_id
from mosaic.fastlane.frame import Frame, FrameMetrics
from mosaic.fastlane.jpeg import Encoder
from mosaic.fastlane.reader import LaneReader
from mosaic.fastlane.status import LaneStatus

GRID = "grid"

_INTERVAL_S = 1 / 30
_BOUNDARY = "frame"
# A camera that nobody looks through any more; a page that is reloaded finds it warm.
_LINGER_S = 2.0


@dataclass(eq=False, slots=True)
class Camera:
    """One view of one run, while somebody looks through it."""

    run_id: str
    lane: str  # "grid", or the number of a lane
    viewers: int = 0
    wanted_budget: float = 0.0
    status: LaneStatus | None = None
    metrics: FrameMetrics | None = None
    picture: bytes = b""
    number: int = 0
    _new: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def next(self, seen: int) -> tuple[int, bytes]:
        """Wait for a picture with another number than the one that was seen."""
        while self.number == seen or not self.picture:
            await self._new.wait()
        return self.number, self.picture

    async def _run(self) -> None:
        encoder = Encoder()
        idle_s = 0.0
        with LaneReader(self.run_id) as reader:
            while self.viewers or idle_s < _LINGER_S:
                idle_s = 0.0 if self.viewers else idle_s + _INTERVAL_S
                reader.wanted_budget = self.wanted_budget
                self.status = reader.status()
                frame = self._read(reader)
                if frame is not None and self.viewers:
                    self.picture = await asyncio.to_thread(encoder.encode, frame)
                    self.metrics = frame.metrics
                    self.number += 1
                    self._new.set()
                    self._new = asyncio.Event()
                await asyncio.sleep(_INTERVAL_S)

    def _read(self, reader: LaneReader) -> Frame | None:
        return reader.read_grid() if self.lane == GRID else reader.read(int(self.lane))


class Cameras:
    """The cameras of this GUI."""

    def __init__(self) -> None:
        self._cameras: dict[tuple[str, str], Camera] = {}

    def find(self, run_id: str, lane: str = GRID) -> Camera:
        """Return the camera of a view, which is made where there is none."""
        if lane != GRID and not (lane.isascii() and lane.isdigit()):
            raise ConfigError(f"lane={lane!r} is not allowed: give 'grid' or a number from 0.")
        key = check_run_id(run_id), lane
        camera = self._cameras.get(key)
        if camera is None:
            self._forget_idle()
            camera = self._cameras[key] = Camera(*key)
        return camera

    def _forget_idle(self) -> None:
        idle = [key for key, camera in self._cameras.items() if not camera.viewers]
        for key in idle:
            del self._cameras[key]

    async def stream(self, camera: Camera) -> AsyncIterator[bytes]:
        """Yield the newest picture as it comes, and leave out what came in between."""
        camera.viewers += 1
        camera.start()
        number = -1
        try:
            while True:
                number, picture = await camera.next(number)
                head = (
                    f"--{_BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(picture)}"
                )
                yield head.encode() + b"\r\n\r\n" + picture + b"\r\n"
        finally:
            camera.viewers -= 1


def still(run_id: str) -> bytes:
    """Return the newest picture of a run, small enough for a card; nothing where there is none.

    It looks for a moment only: a run draws more for those who stay.
    """
    with LaneReader(check_run_id(run_id)) as reader:
        frame = reader.read_grid()
    return b"" if frame is None else Encoder().encode(frame)


def add_frames(app: FastAPI, cameras: Cameras) -> None:
    """Add the routes of the pictures: /frames/RUN?lane=grid, and /frames/RUN/still."""

    @app.get("/frames/{run_id}/still")
    async def picture(run_id: str) -> Response:
        try:
            found = await asyncio.to_thread(still, run_id)
        except (MosaicError, OSError) as error:  # a hostile id, or a lane of another version
            return Response(str(error), status_code=404, media_type="text/plain")
        if not found:
            return Response("The run shows nothing.", status_code=404, media_type="text/plain")
        return Response(found, media_type="image/jpeg", headers={"cache-control": "no-store"})

    @app.get("/frames/{run_id}")
    async def frames(run_id: str, lane: str = GRID) -> Response:
        try:
            camera = cameras.find(run_id, lane)
        except ConfigError as error:
            return Response(error.one_line(), status_code=404, media_type="text/plain")
        return StreamingResponse(
            cameras.stream(camera),
            media_type=f"multipart/x-mixed-replace; boundary={_BOUNDARY}",
            headers={"cache-control": "no-store"},
        )
