"""`mosaic export`: write a run to one file."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from mosaic.cli.arguments import Parser
from mosaic.cli.formatting import format_count
from mosaic.client.connecting import connect
from mosaic.contracts.errors import EXIT_OK, StorageError
from mosaic.contracts.files import sync_directory
from mosaic.contracts.paths import VarPaths


def run(words: Sequence[str]) -> int:
    parser = Parser(
        prog="mosaic export",
        description="Write an ended run to one ZIP file: config, manifest, logs, event files, "
        "videos, the model, and its metrics as CSV and Parquet. 'mosaic import' reads it.",
    )
    parser.add_argument("run", metavar="RUN", help="a run, by any unambiguous prefix")
    parser.add_argument("-o", "--output", metavar="FILE", help="the file (RUN.zip)")
    parser.add_argument("--checkpoints", action="store_true", help="its checkpoints as well")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse(words)
    with connect(VarPaths.default()) as client:
        run_id = client.get_run(given.run).run.run_id
        path = Path(given.output or f"{run_id}.zip")
        size = _write(path, client.export(run_id, with_checkpoints=given.checkpoints))
    if given.json:
        print(json.dumps({"run_id": run_id, "file": str(path), "size_bytes": size}))
    else:
        print(f"{run_id}  exported to {path} ({format_count(size)}B)")
    return EXIT_OK


def _write(path: Path, pieces: Iterator[bytes]) -> int:
    """Write a file that is whole or absent; return its size."""
    aside = None
    try:
        handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            size = sum(file.write(piece) for piece in pieces)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(aside, 0o644)
        os.replace(aside, path)
        aside = None
        sync_directory(path.parent)
    except OSError as error:
        raise StorageError(f"{str(path)!r} cannot be written: {error.strerror}.") from None
    finally:
        if aside is not None:
            Path(aside).unlink(missing_ok=True)
    return size
