"""`mosaic view`: watch a run in the terminal."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from mosaic.cli.arguments import Parser
from mosaic.cli.lane_choice import LaneChoice, add_choice, describe
from mosaic.cli.terminal_pictures import PROTOCOLS, choose_protocol, draw
from mosaic.contracts.errors import EXIT_OK, ConfigError
from mosaic.fastlane import hud
from mosaic.fastlane.directory import find_run
from mosaic.fastlane.frame import Frame
from mosaic.fastlane.reader import LaneReader
from mosaic.fastlane.status import MAX_WANTED_BUDGET, LaneStatus

_LOOK_S = 1 / 60
_STATUS_S = 0.5
_HUD_LINES = 4

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[2J"  # the other screen, no cursor, cleared
_LEAVE = "\x1b[?25h\x1b[?1049l"
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


def run(words: Sequence[str]) -> int:
    parser = Parser(prog="mosaic view", description="Watch a run in the terminal; Ctrl-C leaves.")
    add_choice(parser)
    parser.add_argument(
        "--budget",
        type=float,
        default=0.0,
        metavar="SHARE",
        help=f"share of the run's time that frames may take while you look, at most "
        f"{MAX_WANTED_BUDGET}",
    )
    parser.add_argument(
        "--protocol", choices=PROTOCOLS, help="how the terminal takes pictures; found by itself"
    )
    given = parser.parse(words)
    if not 0 <= given.budget <= MAX_WANTED_BUDGET:
        raise ConfigError(f"--budget {given.budget} is not allowed: give 0 to {MAX_WANTED_BUDGET}.")
    protocol = None if given.json else _protocol(given.protocol, os.environ)
    run_id = find_run(given.run)
    with LaneReader(run_id, wanted_budget=given.budget) as reader:
        choice = LaneChoice(reader, given.lane)
        if protocol is None:
            _print_figures(run_id, reader, choice)
        else:
            _show(protocol, reader, choice)
    return EXIT_OK


def _protocol(asked: str | None, environment: Mapping[str, str]) -> str:
    found = choose_protocol(environment) if sys.stdout.isatty() else None
    if asked is None and found is None:
        raise ConfigError(
            f"This terminal cannot show pictures (TERM={environment.get('TERM', '')!r}).",
            hint="'mosaic frames RUN --out frame.png' writes one to a file; --protocol insists.",
        )
    return asked or found or PROTOCOLS[-1]


def _news(reader: LaneReader, choice: LaneChoice) -> Iterator[tuple[Frame | None, LaneStatus]]:
    """Give every new frame, and the status now and then, until the run has ended."""
    told_s = 0.0
    while (status := reader.status()) is not None:
        frame = choice.read()
        has_ended = status.status in ("ended", "off")
        if frame is not None or has_ended or time.monotonic() >= told_s + _STATUS_S:
            told_s = time.monotonic()
            yield frame, status
        if has_ended:
            return
        time.sleep(_LOOK_S)


def _print_figures(run_id: str, reader: LaneReader, choice: LaneChoice) -> None:
    for frame, status in _news(reader, choice):
        if frame is not None:
            print(json.dumps(describe(run_id, frame, status)), flush=True)


def _show(protocol: str, reader: LaneReader, choice: LaneChoice) -> None:
    last: Frame | None = None
    texts: list[str] = []
    with other_screen():
        for frame, status in _news(reader, choice):
            last = frame or last
            texts = hud.lines(status, last.metrics if last else None)[:_HUD_LINES]
            print(_screen(protocol, last, texts), end="", flush=True)
    print("\n".join(texts))


def _screen(protocol: str, frame: Frame | None, texts: Sequence[str]) -> str:
    columns, rows = shutil.get_terminal_size()
    parts = [] if frame is None else [draw(protocol, frame.pixels, columns, rows - _HUD_LINES)]
    parts += [f"{text[: columns - 1]}{_CLEAR_LINE}" for text in texts]
    return _HOME + "\r\n".join(parts) + _CLEAR_BELOW


@contextmanager
def other_screen() -> Iterator[None]:
    print(_ENTER, end="", flush=True)
    try:
        yield
    finally:
        print(_LEAVE, end="", flush=True)
