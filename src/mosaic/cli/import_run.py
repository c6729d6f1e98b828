"""`mosaic import`: take in a run that was exported."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from mosaic.cli.acting import outcome_line
from mosaic.cli.arguments import Parser
from mosaic.cli.run_view import run_json
from mosaic.client.connecting import connect
from mosaic.contracts.errors import EXIT_OK, ConfigError
from mosaic.contracts.paths import VarPaths

_PIECE_BYTES = 1 << 20


def run(words: Sequence[str]) -> int:
    parser = Parser(
        prog="mosaic import", description="Take in a run that 'mosaic export' has written."
    )
    parser.add_argument("file", metavar="FILE", help="a ZIP file of an exported run")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse(words)
    path = Path(given.file)
    if not path.is_file():
        raise ConfigError(f"{given.file!r} is no file: name what 'mosaic export' has written.")
    with connect(VarPaths.default()) as client:
        imported = client.import_run(_pieces(path))
    print(json.dumps(run_json(imported)) if given.json else outcome_line(imported, "imported"))
    return EXIT_OK


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            yield piece
