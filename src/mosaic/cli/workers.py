"""`mosaic workers`: the workers that are installed."""

from __future__ import annotations

import json
from collections.abc import Sequence

from mosaic.cli.arguments import Parser
from mosaic.cli.tables import print_table
from mosaic.contracts.errors import EXIT_OK
from mosaic.workers.discovery import Catalogue, load_catalogue


def run(words: Sequence[str]) -> int:
    parser = Parser(prog="mosaic workers", description="List the workers that are installed.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse(words)
    catalogue = load_catalogue()
    if given.json:
        print(json.dumps([worker.to_json() for worker in catalogue.workers], indent=2))
    else:
        _print(catalogue)
    return EXIT_OK


def _print(catalogue: Catalogue) -> None:
    if not catalogue.workers:
        print("No worker is installed.")
        return
    rows = []
    for found in catalogue.workers:
        if found.capabilities is None:
            rows.append((found.name, "unavailable", "-", found.reason or ""))
        else:
            known = found.capabilities
            rows.append((found.name, known.version, known.module, known.description))
    print_table(("name", "version", "module", "description"), rows)
