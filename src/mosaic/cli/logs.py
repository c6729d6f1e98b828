"""`mosaic logs`: the end of a run's log, and what is added to it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence

from mosaic.cli.arguments import Parser
from mosaic.client.connecting import connect
from mosaic.contracts.errors import EXIT_OK, ConfigError
from mosaic.contracts.paths import VarPaths

STREAMS = ("stdout", "stderr", "worker", "events", "proxy")


def run(words: Sequence[str]) -> int:
    parser = Parser(
        prog="mosaic logs",
        description="Print the end of a run's log: what the algorithm wrote to stderr, or another.",
    )
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, by any unambiguous prefix")
    parser.add_argument("-f", "--follow", action="store_true", help="go on with what is added")
    parser.add_argument("-n", "--lines", metavar="N", type=int, default=100, help="lines; 100")
    parser.add_argument(
        "--stream",
        choices=STREAMS,
        default="stderr",
        help="stdout, stderr: the algorithm's; worker: its worker's messages; events; proxy",
    )
    parser.add_argument("--daemon", action="store_true", help="the log of the daemon itself")
    parser.add_argument("--json", action="store_true", help="one object, or with -f one a line")
    given = parser.parse(words)
    if given.lines < 1:
        raise ConfigError(f"lines={given.lines} is not allowed: give a number of at least 1.")
    if bool(given.run) == given.daemon:
        raise ConfigError("logs: name one run, or give --daemon for the log of the daemon.")
    with connect(VarPaths.default()) as client:
        chunks = client.logs(given.run or "", given.stream, lines=given.lines, follow=given.follow)
        if not given.json:
            is_empty = _copy(chunks) == 0
            if is_empty and not given.follow and sys.stdout.isatty():
                print("The log is empty.", file=sys.stderr)
        elif given.follow:
            for line in _lines(chunks):
                print(json.dumps({"line": line}), flush=True)
        else:
            print(json.dumps({"lines": list(_lines(chunks))}))
    return EXIT_OK


def _copy(chunks: Iterator[bytes]) -> int:
    """Write the bytes as they are, since a log may hold anything; return how many they were."""
    size = 0
    for chunk in chunks:
        size += sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    return size


def _lines(chunks: Iterator[bytes]) -> Iterator[str]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line.decode("utf-8", errors="replace") for line in whole)
    if rest:
        yield rest.decode("utf-8", errors="replace")
