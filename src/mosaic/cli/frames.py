"""`mosaic frames`: write the newest live frame of a run to a file."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

from mosaic.cli.arguments import Parser
from mosaic.cli.lane_choice import LaneChoice, add_choice, describe
from mosaic.contracts.errors import EXIT_OK, ConfigError, NotFound, StorageError
from mosaic.contracts.files import write_bytes_whole
from mosaic.fastlane import hud
from mosaic.fastlane.directory import find_run
from mosaic.fastlane.frame import Frame
from mosaic.fastlane.jpeg import encode
from mosaic.fastlane.reader import LaneReader
from mosaic.fastlane.status import LaneStatus

FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG"}
_LOOK_S = 0.02


def run(words: Sequence[str]) -> int:
    parser = Parser(
        prog="mosaic frames", description="Write the newest live frame of a run to a file."
    )
    add_choice(parser)
    parser.add_argument("--out", metavar="FILE", required=True, help=".png or .jpg")
    parser.add_argument(
        "--wait", metavar="S", type=float, default=10.0, help="for a first frame (10 s)"
    )
    given = parser.parse(words)
    out = Path(given.out)
    format = _format(out)
    run_id = find_run(given.run)
    with LaneReader(run_id) as reader:
        frame, status = _first_frame(reader, LaneChoice(reader, given.lane), given.wait)
    _write(out, encode(frame.pixels, format))
    if given.json:
        print(json.dumps(describe(run_id, frame, status) | {"out": str(out)}))
    else:
        height, width = frame.pixels.shape[:2]
        print(f"{out}: {width}x{height}, {hud.metrics(frame.metrics)}")
    return EXIT_OK


def _format(out: Path) -> str:
    if out.suffix.lower() not in FORMATS:
        raise ConfigError(f"--out {str(out)!r}: give a name that ends in .png or .jpg.")
    if not out.absolute().parent.is_dir():
        raise ConfigError(f"--out {str(out)!r}: there is no directory {str(out.parent)!r}.")
    return FORMATS[out.suffix.lower()]


def _write(out: Path, picture: bytes) -> None:
    try:
        write_bytes_whole(out, picture)
    except OSError as error:
        raise StorageError(f"--out {str(out)!r} cannot be written: {error.strerror}.") from error


def _first_frame(reader: LaneReader, choice: LaneChoice, wait_s: float) -> tuple[Frame, LaneStatus]:
    end = time.monotonic() + wait_s
    while True:
        frame, status = choice.read(), reader.status()
        if frame is not None and status is not None:
            return frame, status
        cannot_come = status is None or status.status in ("off", "no_renderer", "ended")
        if cannot_come or time.monotonic() > end:
            why = "gone" if status is None else hud.connection(status.notice)
            raise NotFound(f"There is no frame of this run: {why}.")
        time.sleep(_LOOK_S)
