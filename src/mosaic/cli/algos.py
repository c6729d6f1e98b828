"""`mosaic algos`: the algorithms, or the parameters of one."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path

from mosaic.cli.arguments import Parser
from mosaic.cli.parameter_table import parameter_lines
from mosaic.cli.scripts import find_algorithm
from mosaic.cli.tables import print_table
from mosaic.contracts.errors import EXIT_OK
from mosaic.contracts.parameters import Parameter
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.workers.discovery import Catalogue, CatalogueEntry, load_catalogue


def run(words: Sequence[str]) -> int:
    parser = Parser(
        prog="mosaic algos", description="List the algorithms, or the parameters of one."
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="an algorithm")
    parser.add_argument(
        "--cleanrl-home", metavar="DIR", help="a CleanRL checkout: list its scripts, or one's flags"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse(words)
    catalogue = load_catalogue()
    if given.name is not None:
        entry, _ = find_algorithm(catalogue, [given.name], given.cleanrl_home)
        _print_one(entry, as_json=given.json)
    elif given.cleanrl_home is not None:
        _print_all(catalogue.of_checkout(Path(given.cleanrl_home)), as_json=given.json)
    else:
        _print_all(catalogue, as_json=given.json)
    return EXIT_OK


def _print_all(catalogue: Catalogue, *, as_json: bool) -> None:
    entries = [catalogue.entries[name] for name in sorted(catalogue.entries)]
    if as_json:
        print(json.dumps([_summary(entry) for entry in entries], indent=2))
        return
    rows = [
        (
            entry.algorithm.name,
            entry.algorithm.summary,
            ", ".join(entry.algorithm.env_families),
            ", ".join(entry.algorithm.extras) or "-",
            ", ".join(row.env_id for row in entry.algorithm.tuned) or "-",
        )
        for entry in entries
    ]
    print_table(("name", "summary", "environments", "needs", "tuned for"), rows)


def _summary(entry: CatalogueEntry) -> dict[str, object]:
    algorithm = entry.algorithm
    return {
        "name": algorithm.name,
        "summary": algorithm.summary,
        "worker": entry.worker.worker_type,
        "module": algorithm.module,
        "env_families": list(algorithm.env_families),
        "extras": list(algorithm.extras),
        "tuned": [row.env_id for row in algorithm.tuned],
    }


def _print_one(entry: CatalogueEntry, *, as_json: bool) -> None:
    algorithm = entry.algorithm
    if as_json:
        rows = [
            {"env_id": row.env_id, "values": dict(row.values), "source": row.source}
            for row in algorithm.tuned
        ]
        fields = [field.to_json() for field in algorithm.fields]
        print(json.dumps(_summary(entry) | {"fields": fields, "tuned": rows}, indent=2))
        return
    print("\n".join(_lines(algorithm)))


def _lines(algorithm: AlgorithmSchema) -> list[str]:
    lines = [f"{algorithm.name}: {algorithm.summary}"]
    lines.append(f"environments: {', '.join(algorithm.env_families)}")
    if algorithm.extras:
        lines.append(f"needs: pip install 'mosaic-rl[{','.join(algorithm.extras)}]'")
    for group, fields in grouped(algorithm).items():
        lines += ["", f"{group}:", *parameter_lines(fields)]
    width = min(100, shutil.get_terminal_size().columns)
    for row in algorithm.tuned:
        values = ", ".join(f"{name} {value}" for name, value in row.values.items())
        lines += ["", f"tuned for {row.env_id}, used with --tuned:"]
        for text in (values, f"Source: {row.source}."):
            lines += textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="  ")
    return lines


def grouped(algorithm: AlgorithmSchema) -> dict[str, list[Parameter]]:
    """Return the parameters by group, what every run has after what is the algorithm's own."""
    groups: dict[str, list[Parameter]] = {}
    for field in algorithm.fields:
        groups.setdefault(field.group, []).append(field)
    every_run = {field.group for field in algorithm.fields if field.runtime_only}
    return dict(sorted(groups.items(), key=lambda group: group[0] in every_run))
